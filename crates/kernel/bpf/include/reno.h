/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The kernel's Reno: net/ipv4/tcp_cong.c. */
#ifndef CELLCC_RENO_H
#define CELLCC_RENO_H

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#endif

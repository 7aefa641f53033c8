/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The kernel's CUBIC: net/ipv4/tcp_cubic.c. It keeps its state in icsk_ca_priv, so that ours is in storage of the socket. */
#ifndef CELLCC_CUBIC_H
#define CELLCC_CUBIC_H

extern void cubictcp_init(struct sock *sk) __ksym;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, __u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;

#endif

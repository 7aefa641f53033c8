/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The kernel's BBR: net/ipv4/tcp_bbr.c. It keeps its state in icsk_ca_priv, so that ours is in storage of the socket. */
#ifndef CELLCC_BBR_H
#define CELLCC_BBR_H

extern void bbr_init(struct sock *sk) __ksym;
extern void bbr_main(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs) __ksym;
extern __u32 bbr_sndbuf_expand(struct sock *sk) __ksym;
extern __u32 bbr_undo_cwnd(struct sock *sk) __ksym;
extern void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern __u32 bbr_ssthresh(struct sock *sk) __ksym;
extern __u32 bbr_min_tso_segs(struct sock *sk) __ksym;
extern void bbr_set_state(struct sock *sk, __u8 new_state) __ksym;

#endif

// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reminis over the kernel's Reno. The state is in icsk_ca_priv, which Reno leaves alone. */
#include "reminis.h"
#include "reno.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline struct socket_state *state_of(struct sock *sk)
{
	return (struct socket_state *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

SEC("struct_ops")
void BPF_PROG(reminis_init, struct sock *sk)
{
	reminis_begin(sk, state_of(sk));
}

SEC("struct_ops")
void BPF_PROG(reminis_acked, struct sock *sk, const struct ack_sample *sample)
{
	reminis_on_ack(sk, state_of(sk), sample);
}

SEC("struct_ops")
void BPF_PROG(reminis_grow, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
	reminis_after_law(sk, state_of(sk));
}

SEC("struct_ops")
__u32 BPF_PROG(reminis_ssthresh, struct sock *sk)
{
	reminis_before_law(sk, state_of(sk));
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(reminis_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)reminis_init,
	.pkts_acked = (void *)reminis_acked,
	.cong_avoid = (void *)reminis_grow,
	.ssthresh = (void *)reminis_ssthresh,
	.undo_cwnd = (void *)reminis_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cellcc_reminis",
};

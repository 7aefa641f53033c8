// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reminis over the kernel's CUBIC. */
#include "reminis.h"
#include "cubic.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SOCKET_MAP(sockets, socket_state)

SEC("struct_ops")
void BPF_PROG(reminis_init, struct sock *sk)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	cubictcp_init(sk);
	if (state)
		reminis_begin(sk, state);
}

SEC("struct_ops")
void BPF_PROG(reminis_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, 0);

	cubictcp_acked(sk, sample);
	if (state)
		reminis_on_ack(sk, state, sample);
}

SEC("struct_ops")
void BPF_PROG(reminis_grow, struct sock *sk, __u32 ack, __u32 acked)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, 0);

	cubictcp_cong_avoid(sk, ack, acked);
	if (state)
		reminis_after_law(sk, state);
}

SEC("struct_ops")
__u32 BPF_PROG(reminis_ssthresh, struct sock *sk)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, 0);

	if (state)
		reminis_before_law(sk, state);
	return cubictcp_recalc_ssthresh(sk);
}

CUBIC_CALLBACKS(reminis)

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)reminis_init,
	.pkts_acked = (void *)reminis_acked,
	.cong_avoid = (void *)reminis_grow,
	.ssthresh = (void *)reminis_ssthresh,
	CUBIC_OPERATIONS(reminis),
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "reminis_cubic",
};

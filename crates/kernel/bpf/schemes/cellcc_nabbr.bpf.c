// SPDX-License-Identifier: MIT OR GPL-2.0
/* BBR with network assistance: the kernel's BBR, and no more than NATCP's window and rate. */
#include "assisted.h"
#include "bbr.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("struct_ops")
void BPF_PROG(nabbr_init, struct sock *sk)
{
	bbr_init(sk);
	start_assisted(sk);
}

SEC("struct_ops")
void BPF_PROG(nabbr_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, 0);
	struct limits own = {}, decided;

	bbr_main(sk, ack, flag, rs);
	if (!state)
		return;
	own.cwnd = tcp_of(sk)->snd_cwnd;
	own.pacing = sk->sk_pacing_rate;
	decided = assist(sk, state, own, true);
	if (decided.cwnd != own.cwnd)
		set_cwnd(sk, decided.cwnd);
	if (decided.pacing != own.pacing)
		sk->sk_pacing_rate = decided.pacing;
}

SEC("struct_ops")
__u32 BPF_PROG(nabbr_sndbuf, struct sock *sk)
{
	return bbr_sndbuf_expand(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(nabbr_undo, struct sock *sk)
{
	return bbr_undo_cwnd(sk);
}

SEC("struct_ops")
void BPF_PROG(nabbr_event, struct sock *sk, enum tcp_ca_event event)
{
	bbr_cwnd_event(sk, event);
}

SEC("struct_ops")
__u32 BPF_PROG(nabbr_ssthresh, struct sock *sk)
{
	return bbr_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(nabbr_min_tso, struct sock *sk)
{
	return bbr_min_tso_segs(sk);
}

SEC("struct_ops")
void BPF_PROG(nabbr_state, struct sock *sk, __u8 new_state)
{
	bbr_set_state(sk, new_state);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)nabbr_init,
	.cong_control = (void *)nabbr_control,
	.sndbuf_expand = (void *)nabbr_sndbuf,
	.undo_cwnd = (void *)nabbr_undo,
	.cwnd_event = (void *)nabbr_event,
	.ssthresh = (void *)nabbr_ssthresh,
	.min_tso_segs = (void *)nabbr_min_tso,
	.set_state = (void *)nabbr_state,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cellcc_nabbr",
};

// SPDX-License-Identifier: MIT OR GPL-2.0
/* NATCP: the window and the rate that the network's advice allows; without advice the kernel's CUBIC. */
#include "assisted.h"
#include "cubic.h"
#include "pacing.h"
#include "reno.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("struct_ops")
void BPF_PROG(natcp_init, struct sock *sk)
{
	cubictcp_init(sk);
	start_assisted(sk);
	want_pacing(sk);
}

/* Without advice: CUBIC grows the window, and a loss lowers it to ssthresh at once (with cong_control there is no PRR). */
static __always_inline void go_alone(struct sock *sk, __u32 ack, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_of(sk);
	__u32 ssthresh = tp->snd_ssthresh;

	if (!in_recovery(sk))
		cubictcp_cong_avoid(sk, ack, rs->acked_sacked);
	else if (tp->snd_cwnd > ssthresh)
		tp->snd_cwnd = ssthresh;
	pace_as_kernel(sk);
}

SEC("struct_ops")
void BPF_PROG(natcp_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, 0);
	struct limits own = {}, decided = {};

	if (state)
		decided = assist(sk, state, own, false);
	if (!decided.follows) {
		go_alone(sk, ack, rs);
		return;
	}
	set_cwnd(sk, decided.cwnd);
	/* Where CUBIC has to go on alone, it does so from this window, without slow start. */
	tcp_of(sk)->snd_ssthresh = decided.cwnd;
	pace(sk, decided.pacing);
}

SEC("struct_ops")
void BPF_PROG(natcp_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubictcp_acked(sk, sample);
}

SEC("struct_ops")
__u32 BPF_PROG(natcp_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(natcp_state, struct sock *sk, __u8 new_state)
{
	cubictcp_state(sk, new_state);
}

SEC("struct_ops")
void BPF_PROG(natcp_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
__u32 BPF_PROG(natcp_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)natcp_init,
	.pkts_acked = (void *)natcp_acked,
	.cong_control = (void *)natcp_control,
	.ssthresh = (void *)natcp_ssthresh,
	.set_state = (void *)natcp_state,
	.cwnd_event = (void *)natcp_event,
	.undo_cwnd = (void *)natcp_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cellcc_natcp",
};

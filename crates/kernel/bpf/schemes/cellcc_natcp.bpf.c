// SPDX-License-Identifier: MIT OR GPL-2.0
/* NATCP: the window and the rate that the network's advice allows; without advice the kernel's CUBIC. */
#include "assisted.h"
#include "cubic.h"
#include "pacing.h"

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

CUBIC_CALLBACKS(natcp)
CUBIC_SSTHRESH(natcp)
CUBIC_ACKED(natcp)

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)natcp_init,
	.pkts_acked = (void *)natcp_acked,
	.cong_control = (void *)natcp_control,
	.ssthresh = (void *)natcp_ssthresh,
	CUBIC_OPERATIONS(natcp),
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cellcc_natcp",
};

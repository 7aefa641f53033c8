// SPDX-License-Identifier: MIT OR GPL-2.0
/* Tide, with a window and a pacing rate of its own. */
#include "pacing.h"
#include "step.h"
#include "tide.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

STEP_OF(tide, 6)

/* The state is larger than a program's stack: the step stays here, and runs in place. */
struct socket_state {
	struct tide_step step;
	/* Of tcp_sock: when the flow began to use the scheme, and at the acknowledgement before. */
	__u32 delivered_before, lost;
};

SOCKET_MAP(sockets, socket_state)

static __always_inline void start(struct sock *sk)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct tcp_sock *tp = tcp_of(sk);

	if (!state)
		return;
	tide_start(&state->step.state);
	state->step.new_episode = 0;
	state->delivered_before = tp->delivered;
	state->lost = tp->lost;
}

/* What has happened since the step before; false where nothing has. */
static __always_inline bool read_step(struct sock *sk, const struct rate_sample *rs, struct socket_state *state)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct tide_step *step = &state->step;
	struct tide_event *event = &step->event;
	__u32 acked = rs->acked_sacked, lost = tp->lost, before = state->delivered_before;
	long rtt_us = rs->rtt_us;

	/* Without it, nothing is known of when the packets left. */
	if (rs->delivered <= 0)
		acked = 0;
	event->now_us = tp->tcp_mstamp;
	event->rtt_us = rtt_us > 0 ? rtt_us : 0;
	/* srtt_us counts eighths. */
	event->delivered = tp->delivered - before;
	event->delivered_at_send = rs->prior_delivered - before;
	event->acked = acked;
	event->app_limited = rs->is_app_limited;
	step->packet_bytes = tp->mss_cache;
	step->lost = lost - state->lost;
	state->lost = lost;
	return acked | step->lost | step->new_episode;
}

SEC("struct_ops")
void BPF_PROG(tide_init, struct sock *sk)
{
	start(sk);
	want_pacing(sk);
}

SEC("struct_ops")
void BPF_PROG(tide_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, 0);
	__u32 only = 0;
	struct tide_settings *global = bpf_map_lookup_elem(&settings, &only);
	struct tide_step_record *record;
	struct tide_step *step;

	if (!state || !global) {
		/* There was no memory. */
		start(sk);
		return;
	}
	step = &state->step;
	if (!read_step(sk, rs, state))
		return;
	step->settings = *global;
	record = begin_record(sk, step);
	tide_decide(step);
	end_record(record, step);
	step->new_episode = 0;
	if (step->cwnd)
		set_cwnd(sk, step->cwnd);
	if (step->pacing)
		pace(sk, step->pacing);
}

/* An episode of recovery begins, of which tide_control hears with this acknowledgement. Tide has no threshold of slow start. */
SEC("struct_ops")
__u32 BPF_PROG(tide_ssthresh, struct sock *sk)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, 0);

	if (state)
		state->step.new_episode = 1;
	return tcp_of(sk)->snd_ssthresh;
}

SEC("struct_ops")
__u32 BPF_PROG(tide_undo, struct sock *sk)
{
	return tcp_of(sk)->snd_cwnd;
}

/* A millisecond's worth leaves at once, and on a slow link that is a packet. */
SEC("struct_ops")
__u32 BPF_PROG(tide_min_tso, struct sock *sk)
{
	return 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)tide_init,
	.cong_control = (void *)tide_control,
	.ssthresh = (void *)tide_ssthresh,
	.undo_cwnd = (void *)tide_undo,
	.min_tso_segs = (void *)tide_min_tso,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cellcc_tide",
};

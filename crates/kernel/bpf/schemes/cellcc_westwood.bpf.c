// SPDX-License-Identifier: MIT OR GPL-2.0
/* Westwood+ over the kernel's Reno. The Rust side: crates/fixed/src/westwood.rs. */
#include "step.h"
#include "reno.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct westwood_state {
	__u64 words[5];
};

struct westwood_settings {
	__u32 profile;
};

enum { SAMPLE = 0, CUT = 1, RECOVERED = 2, TIMED_OUT = 3 };

struct westwood_step {
	struct westwood_state state;
	struct ack_event event;
	struct window window;
	struct westwood_settings settings;
	__u32 kind, before, reserved;
};

STEP_OF(westwood, 4)

/* In icsk_ca_priv, which Reno leaves alone. */
struct socket_state {
	struct westwood_state westwood;
	__u32 lost;
};

static __always_inline struct socket_state *state_of(struct sock *sk)
{
	return (struct socket_state *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/* What is decided of `window` on a step of this kind. */
static __always_inline struct window decide(struct sock *sk, __u32 kind, const struct ack_event *event,
					    struct window window)
{
	struct socket_state *state = state_of(sk);
	__u32 only = 0;
	struct westwood_settings *global = bpf_map_lookup_elem(&settings, &only);
	struct westwood_step_record *record;
	struct westwood_step step = {};

	if (!global)
		return window;
	step.settings = *global;
	step.kind = kind;
	if (event)
		step.event = *event;
	step.before = tcp_of(sk)->snd_cwnd;
	step.window = window;
	step.state = state->westwood;
	record = begin_record(sk, &step);
	westwood_decide(&step);
	end_record(record, &step);
	state->westwood = step.state;
	return step.window;
}

SEC("struct_ops")
void BPF_PROG(westwood_init, struct sock *sk)
{
	struct socket_state *state = state_of(sk);
	struct westwood_state westwood;

	westwood_start(&westwood);
	state->westwood = westwood;
	state->lost = tcp_of(sk)->lost;
}

SEC("struct_ops")
void BPF_PROG(westwood_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ack_event event;

	read_ack(sk, sample, &state_of(sk)->lost, &event);
	decide(sk, SAMPLE, &event, window_of(sk));
}

SEC("struct_ops")
void BPF_PROG(westwood_grow, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

/* The kernel leads the window here: to no more than it was, except at a time-out. */
SEC("struct_ops")
__u32 BPF_PROG(westwood_ssthresh, struct sock *sk)
{
	__u32 half = tcp_reno_ssthresh(sk);

	return decide(sk, CUT, 0, (struct window){ .cwnd = half, .ssthresh = half }).cwnd;
}

SEC("struct_ops")
void BPF_PROG(westwood_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct window window = { .cwnd = tp->snd_cwnd, .ssthresh = tp->snd_ssthresh };

	if (event == CA_EVENT_COMPLETE_CWR)
		window = decide(sk, RECOVERED, 0, window);
	else if (event == CA_EVENT_LOSS)
		window = decide(sk, TIMED_OUT, 0, window);
	else
		return;
	tp->snd_ssthresh = window.ssthresh;
	if (event == CA_EVENT_COMPLETE_CWR)
		tp->snd_cwnd = window.cwnd;
}

SEC("struct_ops")
__u32 BPF_PROG(westwood_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)westwood_init,
	.pkts_acked = (void *)westwood_acked,
	.cong_avoid = (void *)westwood_grow,
	.cwnd_event = (void *)westwood_event,
	.ssthresh = (void *)westwood_ssthresh,
	.undo_cwnd = (void *)westwood_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cellcc_westwood",
};

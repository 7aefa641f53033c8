// SPDX-License-Identifier: MIT OR GPL-2.0
/* Vegas over the kernel's Reno. The Rust side: crates/fixed/src/vegas.rs. */
#include "step.h"
#include "reno.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct vegas_state {
	__u64 words[3];
};

struct vegas_settings {
	__u32 alpha, beta, gamma;
};

enum { SAMPLE = 0, ACKNOWLEDGEMENT = 1, RECOVERED = 2, RESTART = 3 };

struct vegas_step {
	struct vegas_state state;
	struct ack_event event;
	struct window window;
	struct vegas_settings settings;
	__u32 kind, law_grows, reserved;
};

STEP_OF(vegas, 3)

/* In icsk_ca_priv, which Reno leaves alone. */
struct socket_state {
	struct vegas_state vegas;
	__u32 lost;
	/* Of the sample before: cong_avoid does not know it. */
	__u32 delivered_at_send;
	__u8 was_in_recovery;
};

static __always_inline struct socket_state *state_of(struct sock *sk)
{
	return (struct socket_state *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/* Decides on `event`; true where Reno is to grow the window. */
static __always_inline bool decide(struct sock *sk, __u32 kind, const struct ack_event *event)
{
	struct socket_state *state = state_of(sk);
	__u32 only = 0;
	struct vegas_settings *global = bpf_map_lookup_elem(&settings, &only);
	struct vegas_step_record *record;
	struct vegas_step step = {};
	struct window before;

	if (!global)
		return true;
	before = window_of(sk);
	step.settings = *global;
	step.kind = kind;
	step.event = *event;
	step.window = before;
	step.state = state->vegas;
	record = begin_record(sk, &step);
	vegas_decide(&step);
	end_record(record, &step);
	state->vegas = step.state;
	set_window(sk, before, step.window);
	return step.law_grows;
}

SEC("struct_ops")
void BPF_PROG(vegas_init, struct sock *sk)
{
	struct socket_state *state = state_of(sk);
	struct vegas_state vegas;

	vegas_start(&vegas);
	state->vegas = vegas;
	state->lost = tcp_of(sk)->lost;
	state->delivered_at_send = tcp_of(sk)->delivered;
	state->was_in_recovery = false;
}

SEC("struct_ops")
void BPF_PROG(vegas_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct socket_state *state = state_of(sk);
	struct ack_event event;

	read_ack(sk, sample, &state->lost, &event);
	state->delivered_at_send = event.delivered_at_send;
	decide(sk, SAMPLE, &event);
}

SEC("struct_ops")
void BPF_PROG(vegas_grow, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct ack_event event = {
		.now_us = tp->tcp_mstamp,
		.delivered = tp->delivered,
		.delivered_at_send = state_of(sk)->delivered_at_send,
		.cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited),
	};

	if (decide(sk, ACKNOWLEDGEMENT, &event))
		tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
void BPF_PROG(vegas_state, struct sock *sk, __u8 new_state)
{
	struct socket_state *state = state_of(sk);
	struct ack_event event = { .delivered = tcp_of(sk)->delivered };
	bool recovered = state->was_in_recovery && new_state == TCP_CA_Open;

	state->was_in_recovery = new_state >= TCP_CA_CWR || (state->was_in_recovery && !recovered);
	if (recovered)
		decide(sk, RECOVERED, &event);
}

SEC("struct_ops")
void BPF_PROG(vegas_event, struct sock *sk, enum tcp_ca_event event)
{
	struct ack_event restart = { .delivered = tcp_of(sk)->delivered };

	if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART)
		decide(sk, RESTART, &restart);
}

SEC("struct_ops")
__u32 BPF_PROG(vegas_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(vegas_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)vegas_init,
	.pkts_acked = (void *)vegas_acked,
	.cong_avoid = (void *)vegas_grow,
	.set_state = (void *)vegas_state,
	.cwnd_event = (void *)vegas_event,
	.ssthresh = (void *)vegas_ssthresh,
	.undo_cwnd = (void *)vegas_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cellcc_vegas",
};

// SPDX-License-Identifier: MIT OR GPL-2.0
/* ROCCET over the kernel's CUBIC. The Rust side: crates/fixed/src/roccet. */
#include "step.h"
#include "cubic.h"
#include "pacing.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct roccet_state {
	__u64 words[14];
};

struct roccet_settings {
	__u32 reserved;
};

enum { ACKNOWLEDGEMENT = 0, LOSS = 1, MARK = 2, TIMED_OUT = 3, RESTART = 4 };
enum { RESTS = 0, GROWS = 1, WAITS = 2, CUTS = 3, BEGINS = 4 };
enum { UNBOUNDED = 0xffffffff };

struct roccet_step {
	struct roccet_state state;
	struct ack_event event;
	struct window window;
	__u32 kind, srtt_us, sent, in_recovery, most, law;
};

STEP_OF(roccet, 7)

struct socket_state {
	struct roccet_state roccet;
	__u32 lost, law;
	/* CUBIC's window while a probe has a smaller one; zero otherwise. */
	__u32 held;
};

SOCKET_MAP(sockets, socket_state)

static __always_inline struct socket_state *state_of(struct sock *sk)
{
	return bpf_sk_storage_get(&sockets, sk, 0, 0);
}

static __always_inline void decide(struct sock *sk, struct socket_state *state, struct roccet_step *step)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct roccet_step_record *record;
	__u32 held = state->held;

	step->window = window_of(sk);
	if (held)
		step->window.cwnd = held;
	step->srtt_us = tp->srtt_us >> 3;
	step->sent = tp->data_segs_out;
	step->in_recovery = BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state) >= TCP_CA_CWR;
	step->state = state->roccet;
	record = begin_record(sk, step);
	roccet_decide(step);
	end_record(record, step);
	state->roccet = step->state;
}

/* CUBIC's window again. */
static __always_inline void release(struct sock *sk, struct socket_state *state)
{
	__u32 held = state->held;

	state->held = 0;
	if (held)
		set_cwnd(sk, held);
}

SEC("struct_ops")
void BPF_PROG(roccet_init, struct sock *sk)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct roccet_state roccet;

	cubictcp_init(sk);
	want_pacing(sk);
	if (!state)
		return;
	roccet_start(&roccet);
	state->roccet = roccet;
	state->lost = tcp_of(sk)->lost;
	state->law = RESTS;
	state->held = 0;
}

SEC("struct_ops")
void BPF_PROG(roccet_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct socket_state *state = state_of(sk);
	struct tcp_sock *tp = tcp_of(sk);
	__u32 cwnd = tp->snd_cwnd;
	bool slow_start = cwnd < tp->snd_ssthresh;
	struct roccet_step step = {};
	struct window before;

	/* Launch stands for HyStart, which would end slow start here. */
	if (!slow_start)
		cubictcp_acked(sk, sample);
	if (!state)
		return;
	read_ack(sk, sample, &state->lost, &step.event);
	/* tcp_is_cwnd_limited: pacing holds back what the window allows. */
	if (slow_start && cwnd < 2 * tp->max_packets_out)
		step.event.cwnd_limited = 1;
	before = window_of(sk);
	decide(sk, state, &step);
	state->law = step.law;
	if (step.most == UNBOUNDED || step.law == CUTS)
		release(sk, state);
	if (step.law == CUTS) {
		tp->snd_ssthresh = cubictcp_recalc_ssthresh(sk);
		set_cwnd(sk, tp->snd_ssthresh);
		return;
	}
	if (state->held)
		return;
	if (step.most < step.window.cwnd && !step.in_recovery) {
		state->held = step.window.cwnd;
		set_cwnd(sk, step.most);
		return;
	}
	set_window(sk, before, step.window);
}

SEC("struct_ops")
void BPF_PROG(roccet_grow, struct sock *sk, __u32 ack, __u32 acked)
{
	struct socket_state *state = state_of(sk);

	if (!state || state->law == GROWS)
		cubictcp_cong_avoid(sk, ack, acked);
}

/* A mark begins a reduction of the window while nothing is lost. */
SEC("struct_ops")
__u32 BPF_PROG(roccet_ssthresh, struct sock *sk)
{
	struct socket_state *state = state_of(sk);
	struct roccet_step step = {};

	if (!state)
		return cubictcp_recalc_ssthresh(sk);
	step.kind = tcp_of(sk)->lost_out ? LOSS : MARK;
	step.event.now_us = tcp_of(sk)->tcp_mstamp;
	decide(sk, state, &step);
	release(sk, state);
	return step.law == CUTS ? cubictcp_recalc_ssthresh(sk) : step.window.ssthresh;
}

SEC("struct_ops")
void BPF_PROG(roccet_event, struct sock *sk, enum tcp_ca_event event)
{
	struct socket_state *state = state_of(sk);
	struct roccet_step step = {};

	if (!state || (event != CA_EVENT_LOSS && event != CA_EVENT_CWND_RESTART)) {
		cubictcp_cwnd_event(sk, event);
		return;
	}
	step.kind = event == CA_EVENT_LOSS ? TIMED_OUT : RESTART;
	decide(sk, state, &step);
	state->held = 0;
	cubictcp_init(sk);
	tcp_of(sk)->snd_ssthresh = step.window.ssthresh;
	/* After a time-out the kernel has its own: what is in flight and one packet. */
	set_cwnd(sk, step.window.cwnd);
}

SEC("struct_ops")
void BPF_PROG(roccet_state, struct sock *sk, __u8 new_state)
{
	cubictcp_state(sk, new_state);
}

SEC("struct_ops")
__u32 BPF_PROG(roccet_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)roccet_init,
	.pkts_acked = (void *)roccet_acked,
	.cong_avoid = (void *)roccet_grow,
	.ssthresh = (void *)roccet_ssthresh,
	.cwnd_event = (void *)roccet_event,
	.set_state = (void *)roccet_state,
	.undo_cwnd = (void *)roccet_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cellcc_roccet",
};

/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Reminis' Guardian over either law. The Rust side: crates/fixed/src/reminis/step.rs. */
#ifndef CELLCC_REMINIS_H
#define CELLCC_REMINIS_H

#include "step.h"
#include "socket_settings.h"

struct reminis_state {
	__u64 words[12];
};

struct reminis_settings {
	__u32 target_us;
	__s32 multiple;
	__u32 profile, exploration, proactive_slowdown, catastrophe_mitigation;
};

struct reminis_step {
	struct reminis_state state;
	struct ack_event event;
	struct window window;
	struct reminis_settings settings;
	__u32 kind, is_probing;
};

enum { ACKNOWLEDGEMENT = 0, BEFORE_LAW = 1, AFTER_LAW = 2 };

STEP_OF(reminis, 1)

/* A flow: 104 bytes, which is what icsk_ca_priv holds. */
struct socket_state {
	struct reminis_state guardian;
	/* tp->lost at the last acknowledgement. */
	__u32 lost;
	/* Only then do the steps around the law matter. */
	__u32 is_probing;
};

static __always_inline void reminis_begin(struct sock *sk, struct socket_state *state)
{
	struct reminis_state guardian;

	reminis_start(&guardian);
	state->guardian = guardian;
	state->lost = tcp_of(sk)->lost;
	state->is_probing = false;
}

/* Runs a step; `sample` is that of an acknowledgement, and else none. */
static __always_inline void reminis_step_on(struct sock *sk, struct socket_state *state, __u32 kind,
					    const struct ack_sample *sample)
{
	__u32 only = 0;
	struct reminis_settings *global = bpf_map_lookup_elem(&settings, &only);
	struct socket_settings *own = bpf_sk_storage_get(&socket_settings, sk, 0, 0);
	struct reminis_step_record *record;
	struct reminis_step step = {};
	struct window before;

	if (!global)
		return;
	before = window_of(sk);
	step.settings = *global;
	if (own && own->target_us)
		step.settings.target_us = own->target_us;
	if (sample)
		read_ack(sk, sample, &state->lost, &step.event);
	step.window = before;
	step.kind = kind;
	step.state = state->guardian;
	record = begin_record(sk, &step);
	reminis_decide(&step);
	end_record(record, &step);
	state->guardian = step.state;
	state->is_probing = step.is_probing;
	set_window(sk, before, step.window);
}

static __always_inline void reminis_on_ack(struct sock *sk, struct socket_state *state,
					   const struct ack_sample *sample)
{
	reminis_step_on(sk, state, ACKNOWLEDGEMENT, sample);
}

static __always_inline void reminis_before_law(struct sock *sk, struct socket_state *state)
{
	if (state->is_probing)
		reminis_step_on(sk, state, BEFORE_LAW, 0);
}

static __always_inline void reminis_after_law(struct sock *sk, struct socket_state *state)
{
	if (state->is_probing)
		reminis_step_on(sk, state, AFTER_LAW, 0);
}

#endif

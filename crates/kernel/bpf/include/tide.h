/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A step of Tide, and its ticks. The Rust side: crates/fixed/src/tide/step.rs. */
#ifndef CELLCC_TIDE_H
#define CELLCC_TIDE_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>

struct tide_state {
	__u64 words[77];
};

struct tide_event {
	__u64 now_us;
	__u32 rtt_us, delivered, delivered_at_send, acked, app_limited, reserved;
};

struct tide_settings {
	__u32 delay_us;
};

struct tide_step {
	struct tide_state state;
	struct tide_event event;
	struct tide_settings settings;
	__u32 lost, new_episode, packet_bytes;
	__u64 pacing;
	__u32 cwnd, reserved;
};

extern __hidden __u32 tide_end_tick(struct tide_step *step);

/* A function of its own, so that the verifier follows its branches once, and not once for each turn. */
__attribute__((noinline)) int tide_tick(struct tide_step *step)
{
	return step ? tide_end_tick(step) : 0;
}

static long tide_tick_once(__u64 number, struct tide_step **step)
{
	int ended = tide_tick(*step);

	/* The verifier has to see that what follows is 0 or 1. */
	barrier_var(ended);
	return !ended;
}

/* Ends the ticks that are over before the acknowledgement, but no more than `most`. */
__hidden void tide_end_ticks(struct tide_step *step, __u32 most)
{
	bpf_loop(most, tide_tick_once, &step, 0);
}

#endif

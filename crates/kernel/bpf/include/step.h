/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What every scheme has around its step in Rust: its beginning, its decision, its record, and what is set. */
#ifndef CELLCC_STEP_H
#define CELLCC_STEP_H

#include "record.h"

/*
 * Of the scheme NAME, which has struct NAME_state, NAME_step and NAME_settings: NAME_start, NAME_decide, the records of the
 * core CORE, and the map of settings.
 *
 * NAME_decide is a function of its own, so that the verifier follows its branches once, and not once for each way that leads
 * to it.
 */
#define STEP_OF(NAME, CORE)							\
	extern __hidden void NAME##_start(struct NAME##_state *state);		\
	extern __hidden void NAME##_run(struct NAME##_step *step);		\
	__attribute__((noinline)) int NAME##_decide(struct NAME##_step *step)	\
	{									\
		if (step)							\
			NAME##_run(step);					\
		return 0;							\
	}									\
	RECORD_OF(NAME##_step, CORE)						\
	struct {								\
		__uint(type, BPF_MAP_TYPE_ARRAY);				\
		__uint(max_entries, 1);						\
		__type(key, __u32);						\
		__type(value, struct NAME##_settings);				\
	} settings SEC(".maps");

#endif

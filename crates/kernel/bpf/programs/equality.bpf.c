// SPDX-License-Identifier: MIT OR GPL-2.0
/* Random steps of the cores in the kernel, for a test that compares them with the same steps on the host. The trial
 * of a core is a step with the words that it is drawn from: crates/fixed/src/step.rs. */
#include "tide.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct request {
	__u64 seed;
	__u32 steps, reserved;
};

/* What to run. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct request);
} requests SEC(".maps");

struct trial {
	__u64 words[128];
};

#define TRIAL(CORE)									\
	struct {									\
		__uint(type, BPF_MAP_TYPE_ARRAY);					\
		__uint(max_entries, 1);							\
		__type(key, __u32);							\
		__type(value, struct trial);						\
	} CORE##_trials SEC(".maps");							\
	extern __hidden void CORE##_begin(struct trial *trial, __u64 seed);		\
	extern __hidden void CORE##_try(struct trial *trial);				\
	/* A function of its own, so that the verifier follows its branches once. */	\
	__attribute__((noinline)) int CORE##_step(struct trial *trial)			\
	{										\
		if (trial)								\
			CORE##_try(trial);						\
		return 0;								\
	}										\
	static long CORE##_once(__u64 number, struct trial **trial)			\
	{										\
		CORE##_step(*trial);							\
		return 0;								\
	}										\
	SEC("syscall") int try_##CORE(void *context)					\
	{										\
		__u32 only = 0;								\
		struct request *request = bpf_map_lookup_elem(&requests, &only);	\
		struct trial *trial = bpf_map_lookup_elem(&CORE##_trials, &only);	\
											\
		if (!request || !trial)							\
			return 0;							\
		CORE##_begin(trial, request->seed);					\
		bpf_loop(request->steps, CORE##_once, &trial, 0);			\
		return 0;								\
	}

/* TRIAL(NAME) of each core that there is, by tools/kernel-objects. */
#include "trials.h"

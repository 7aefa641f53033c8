/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Steps as they run, before and after, for a recorder in user space. Without one this costs a look-up in an array. */
#ifndef CELLCC_RECORD_H
#define CELLCC_RECORD_H

#include "name.h"
#include "socket.h"

/* Holds the ring of the recorder, while there is one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_RINGBUF);
		__uint(max_entries, 4096);
	});
} recorder SEC(".maps");

/* How many steps the ring had no room for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} missed SEC(".maps");

static __always_inline void *miss(void)
{
	__u32 only = 0;
	__u64 *count = bpf_map_lookup_elem(&missed, &only);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

/* A record of a step of type STEP: the socket, the step before it ran, the step afterwards. */
#define RECORD_OF(STEP, CORE)						\
	struct STEP##_record {						\
		struct socket_name socket;				\
		struct STEP before, after;				\
	};								\
	static __always_inline struct STEP##_record *begin_record(	\
		struct sock *sk, const struct STEP *step)		\
	{								\
		__u32 only = 0;						\
		void *ring = bpf_map_lookup_elem(&recorder, &only);	\
		struct STEP##_record *record;				\
									\
		if (!ring)						\
			return 0;					\
		record = bpf_ringbuf_reserve(ring, sizeof(*record), 0);	\
		if (!record)						\
			return miss();					\
		record->socket = name_of(sk);				\
		record->socket.core = CORE;				\
		record->before = *step;					\
		return record;						\
	}								\
	static __always_inline void end_record(				\
		struct STEP##_record *record, const struct STEP *step)	\
	{								\
		if (!record)						\
			return;						\
		record->after = *step;					\
		bpf_ringbuf_submit(record, 0);				\
	}

#endif

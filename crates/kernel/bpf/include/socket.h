/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What every scheme reads of a socket and writes to it. The Rust side of the structs: crates/fixed/src/path.rs. */
#ifndef CELLCC_SOCKET_H
#define CELLCC_SOCKET_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

struct ack_event {
	__u64 now_us;
	__u32 rtt_us, delivered, delivered_at_send, cwnd_limited, lost, random;
};

struct window {
	__u32 cwnd, ssthresh;
};

static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* PRR owns snd_cwnd then, and leads it to snd_ssthresh: that is the window of the law. */
static __always_inline bool in_recovery(struct sock *sk)
{
	__u8 state = BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state);

	return state == TCP_CA_CWR || state == TCP_CA_Recovery;
}

static __always_inline struct window window_of(struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	__u32 ssthresh = tp->snd_ssthresh;

	return (struct window){ .cwnd = in_recovery(sk) ? ssthresh : tp->snd_cwnd, .ssthresh = ssthresh };
}

static __always_inline void set_cwnd(struct sock *sk, __u32 cwnd)
{
	struct tcp_sock *tp = tcp_of(sk);
	__u32 clamp = tp->snd_cwnd_clamp;

	tp->snd_cwnd = cwnd < clamp ? cwnd : clamp;
}

/* Writes what differs from `before`. */
static __always_inline void set_window(struct sock *sk, struct window before, struct window decided)
{
	struct tcp_sock *tp = tcp_of(sk);

	if (decided.ssthresh != before.ssthresh)
		tp->snd_ssthresh = decided.ssthresh;
	if (decided.cwnd == before.cwnd)
		return;
	if (in_recovery(sk))
		tp->snd_ssthresh = decided.cwnd;
	else
		set_cwnd(sk, decided.cwnd);
}

/* The acknowledgement in pkts_acked. `lost` is tp->lost at the acknowledgement before, and becomes that of this one. */
static __always_inline void read_ack(struct sock *sk, const struct ack_sample *sample, __u32 *lost,
				     struct ack_event *event)
{
	struct tcp_sock *tp = tcp_of(sk);
	__u32 packet = tp->mss_cache, inflight = sample->in_flight, lost_now = tp->lost;
	__s32 rtt_us = sample->rtt_us;

	event->now_us = tp->tcp_mstamp;
	event->rtt_us = rtt_us > 0 ? rtt_us : 0;
	event->delivered = tp->delivered;
	/* in_flight counts bytes: those from the first unacknowledged one to this packet's end when it left. */
	event->delivered_at_send = event->delivered - (packet ? (inflight + packet - 1) / packet : 0);
	event->cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
	event->lost = lost_now != *lost;
	event->random = bpf_get_prandom_u32();
	*lost = lost_now;
}

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The network's advice on the path to a peer, and the limits that follow from it. The Rust side: crates/fixed/src/assisted/step.rs. */
#ifndef CELLCC_ASSISTED_H
#define CELLCC_ASSISTED_H

#include "peer_flows.h"
#include "step.h"
#include "socket_settings.h"

/* Advice by the peer's address: IPv6, or IPv4 as ::ffff:a.b.c.d. Any program that knows a bottleneck may write it. The number in the
 * name is the version of this layout. */
struct advice {
	__u64 bandwidth, measured_at_us;
	__u32 min_rtt_us, period_us, flows, reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct in6_addr);
	__type(value, struct advice);
} advice_1 SEC(".maps");

struct assisted_state {
	__u64 words[6];
};

struct path {
	__u64 now_us;
	__u32 min_rtt_us, probe_timeout_us, packet_bytes, rtt_us;
};

struct assisted_settings {
	__s32 alpha, pacing_gain, timeout_periods;
	__u32 paces_at_share;
};

struct limits {
	__u64 pacing;
	__u32 cwnd, follows;
};

struct assisted_step {
	struct assisted_state state;
	struct advice advice;
	struct path path;
	struct assisted_settings settings;
	struct limits limits;
	__u32 caps, reserved;
};

STEP_OF(assisted, 2)

struct socket_state {
	struct assisted_state assisted;
	/* What SO_MAX_PACING_RATE was last set to by us. */
	__u64 rate_cap;
};

SOCKET_MAP(sockets, socket_state)

static __always_inline void start_assisted(struct sock *sk)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!state)
		return;
	assisted_start(&state->assisted);
	state->rate_cap = ~0ULL;
}

static __always_inline void read_path(struct sock *sk, struct path *path)
{
	struct tcp_sock *tp = tcp_of(sk);
	__u32 min_rtt_us = tp->rtt_min.s[0].v;

	path->now_us = tp->tcp_mstamp;
	path->min_rtt_us = min_rtt_us == ~0U ? 0 : min_rtt_us;
	/* srtt_us counts eighths; rttvar_us is four times the variation (tcp_rtt_estimator). */
	path->rtt_us = tp->srtt_us >> 3;
	path->probe_timeout_us = path->rtt_us + tp->rttvar_us;
	path->packet_bytes = tp->mss_cache;
}

/* The part of a bandwidth that is payload. Advice counts headers, as the link does; windows and pacing rates of the kernel do
 * not. */
static __always_inline __u64 payload_of(struct sock *sk, __u64 bandwidth)
{
	struct tcp_sock *tp = tcp_of(sk);
	__u32 ip_header = sk->__sk_common.skc_family == AF_INET6 ? 40 : 20;
	__u64 payload = tp->mss_cache;

	return bandwidth * payload / (payload + tp->tcp_header_len + ip_header);
}

/* The user's flows: as its device reported, lately; else as the network counts them. */
static __always_inline __u32 flows_of(struct sock *sk, const struct advice *advice)
{
	struct peer_flows *reported = bpf_sk_storage_get(&peer_flows_1, sk, 0, 0);

	if (reported && reported->count && reported->at_us + PEER_FLOWS_LAST_US > tcp_of(sk)->tcp_mstamp)
		return reported->count;
	return advice->flows;
}

/* Puts NATCP's limits in the place of the socket's, or below them, while there is advice to follow. */
static __always_inline struct limits assist(struct sock *sk, struct socket_state *state, struct limits own, bool caps)
{
	struct socket_name name = name_of(sk);
	struct advice *advice = bpf_map_lookup_elem(&advice_1, name.peer);
	__u32 only = 0;
	struct assisted_settings *global = bpf_map_lookup_elem(&settings, &only);
	struct socket_settings *personal = bpf_sk_storage_get(&socket_settings, sk, 0, 0);
	struct assisted_step_record *record;
	struct assisted_step step = {};

	if (!global)
		return own;
	if (advice) {
		step.advice = *advice;
		step.advice.flows = flows_of(sk, advice);
	}
	step.advice.bandwidth = payload_of(sk, step.advice.bandwidth);
	step.settings = *global;
	if (personal && personal->alpha)
		step.settings.alpha = personal->alpha;
	read_path(sk, &step.path);
	step.limits = own;
	step.caps = caps;
	step.state = state->assisted;
	record = begin_record(sk, &step);
	assisted_decide(&step);
	end_record(record, &step);
	state->assisted = step.state;
	return step.limits;
}

#endif

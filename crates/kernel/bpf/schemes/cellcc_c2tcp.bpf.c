// SPDX-License-Identifier: MIT OR GPL-2.0
/* C2TCP over the kernel's CUBIC. The Rust side: crates/fixed/src/c2tcp.rs. */
#include "step.h"
#include "cubic.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct c2tcp_state {
	__u64 words[6];
};

struct c2tcp_settings {
	__u32 target_us;
	__s32 multiple, alpha;
	__u32 profile, tuner, reserved;
};

struct c2tcp_step {
	struct c2tcp_state state;
	struct ack_event event;
	struct c2tcp_settings settings;
	__u32 cwnd, in_recovery, growth, cuts;
};

STEP_OF(c2tcp, 5)

struct socket_state {
	struct c2tcp_state c2tcp;
	__u32 lost;
};

SOCKET_MAP(sockets, socket_state)

SEC("struct_ops")
void BPF_PROG(c2tcp_init, struct sock *sk)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct c2tcp_state c2tcp;

	cubictcp_init(sk);
	if (!state)
		return;
	c2tcp_start(&c2tcp);
	state->c2tcp = c2tcp;
	state->lost = tcp_of(sk)->lost;
}

SEC("struct_ops")
void BPF_PROG(c2tcp_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, 0);
	struct tcp_sock *tp = tcp_of(sk);
	__u32 only = 0, grown, clamp = tp->snd_cwnd_clamp;
	struct c2tcp_settings *global = bpf_map_lookup_elem(&settings, &only);
	struct c2tcp_step_record *record;
	struct c2tcp_step step = {};

	cubictcp_acked(sk, sample);
	if (!state || !global)
		return;
	step.settings = *global;
	read_ack(sk, sample, &state->lost, &step.event);
	step.cwnd = tp->snd_cwnd;
	step.in_recovery = BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state) >= TCP_CA_CWR;
	step.state = state->c2tcp;
	record = begin_record(sk, &step);
	c2tcp_decide(&step);
	end_record(record, &step);
	state->c2tcp = step.state;
	grown = tp->snd_cwnd + step.growth;
	if (step.growth)
		tp->snd_cwnd = grown < clamp ? grown : clamp;
	if (!step.cuts)
		return;
	tp->snd_ssthresh = cubictcp_recalc_ssthresh(sk);
	if (!step.in_recovery)
		tp->snd_cwnd = 1;
}

SEC("struct_ops")
void BPF_PROG(c2tcp_grow, struct sock *sk, __u32 ack, __u32 acked)
{
	cubictcp_cong_avoid(sk, ack, acked);
}

CUBIC_CALLBACKS(c2tcp)
CUBIC_SSTHRESH(c2tcp)

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)c2tcp_init,
	.pkts_acked = (void *)c2tcp_acked,
	.cong_avoid = (void *)c2tcp_grow,
	.ssthresh = (void *)c2tcp_ssthresh,
	CUBIC_OPERATIONS(c2tcp),
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cellcc_c2tcp",
};

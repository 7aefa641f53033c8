// SPDX-License-Identifier: MIT OR GPL-2.0
/* NACubic: the kernel's CUBIC, and no more than NATCP's window and rate. */
#include "assisted.h"
#include "cubic.h"
#include "reno.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* include/uapi/asm-generic/socket.h */
enum { SOL_SOCKET = 1, SO_MAX_PACING_RATE = 47 };

/* After cong_avoid the kernel computes the pacing rate anew, so that a cap has to be the socket's. From BPF the option takes
 * four bytes, of which all ones are no cap. */
static __always_inline void cap_rate(struct sock *sk, struct socket_state *state, __u64 rate)
{
	__u32 value = rate < 0xffffffff ? rate : 0xffffffff;

	if (rate == state->rate_cap)
		return;
	state->rate_cap = rate;
	bpf_setsockopt(sk, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof(value));
}

SEC("struct_ops")
void BPF_PROG(nacubic_init, struct sock *sk)
{
	cubictcp_init(sk);
	start_assisted(sk);
}

SEC("struct_ops")
void BPF_PROG(nacubic_grow, struct sock *sk, __u32 ack, __u32 acked)
{
	struct socket_state *state = bpf_sk_storage_get(&sockets, sk, 0, 0);
	struct limits own = { .pacing = ~0ULL }, decided;

	cubictcp_cong_avoid(sk, ack, acked);
	if (!state)
		return;
	own.cwnd = tcp_of(sk)->snd_cwnd;
	decided = assist(sk, state, own, true);
	if (decided.cwnd != own.cwnd)
		set_cwnd(sk, decided.cwnd);
	cap_rate(sk, state, decided.pacing);
}

SEC("struct_ops")
void BPF_PROG(nacubic_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubictcp_acked(sk, sample);
}

SEC("struct_ops")
__u32 BPF_PROG(nacubic_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(nacubic_state, struct sock *sk, __u8 new_state)
{
	cubictcp_state(sk, new_state);
}

SEC("struct_ops")
void BPF_PROG(nacubic_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
__u32 BPF_PROG(nacubic_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)nacubic_init,
	.pkts_acked = (void *)nacubic_acked,
	.cong_avoid = (void *)nacubic_grow,
	.ssthresh = (void *)nacubic_ssthresh,
	.set_state = (void *)nacubic_state,
	.cwnd_event = (void *)nacubic_event,
	.undo_cwnd = (void *)nacubic_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cellcc_nacubic",
};

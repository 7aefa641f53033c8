// SPDX-License-Identifier: MIT OR GPL-2.0
/* NACubic: the kernel's CUBIC, and no more than NATCP's window and rate. */
#include "assisted.h"
#include "cubic.h"

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

CUBIC_CALLBACKS(nacubic)
CUBIC_SSTHRESH(nacubic)
CUBIC_ACKED(nacubic)

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)nacubic_init,
	.pkts_acked = (void *)nacubic_acked,
	.cong_avoid = (void *)nacubic_grow,
	.ssthresh = (void *)nacubic_ssthresh,
	CUBIC_OPERATIONS(nacubic),
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cellcc_nacubic",
};

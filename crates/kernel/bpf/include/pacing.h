/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Pacing by a scheme that has cong_control, for which the kernel computes no rate. */
#ifndef CELLCC_PACING_H
#define CELLCC_PACING_H

#include "socket.h"

/* include/net/sock.h */
enum { SK_PACING_NONE = 0, SK_PACING_NEEDED = 1 };

/* Without the queueing discipline fq, TCP paces by itself where that is asked for. */
static __always_inline void want_pacing(struct sock *sk)
{
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Bytes per second. */
static __always_inline void pace(struct sock *sk, __u64 rate)
{
	unsigned long most = sk->sk_max_pacing_rate;

	sk->sk_pacing_rate = rate < most ? rate : most;
}

/* tcp_update_pacing_rate with the defaults of tcp_pacing_ss_ratio and tcp_pacing_ca_ratio: twice the window per RTT in slow
 * start, else 1.2 times. */
static __always_inline void pace_as_kernel(struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	__u32 cwnd = tp->snd_cwnd, out = tp->packets_out, srtt_us = tp->srtt_us;
	__u64 percent = cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	/* srtt_us counts eighths of microseconds. */
	__u64 rate = (__u64)tp->mss_cache * (1000000 / 100 << 3) * percent * (cwnd > out ? cwnd : out);

	pace(sk, srtt_us ? rate / srtt_us : rate);
}

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The kernel's CUBIC: net/ipv4/tcp_cubic.c. It keeps its state in icsk_ca_priv, so that ours is in storage of the socket. */
#ifndef CELLCC_CUBIC_H
#define CELLCC_CUBIC_H

#include "reno.h"
#include "socket.h"

extern void cubictcp_init(struct sock *sk) __ksym;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, __u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;

/* The callbacks of NAME that leave everything to CUBIC, and their places in its operations. */
#define CUBIC_CALLBACKS(NAME)							\
	SEC("struct_ops")							\
	void BPF_PROG(NAME##_state, struct sock *sk, __u8 new_state)		\
	{									\
		cubictcp_state(sk, new_state);					\
	}									\
	SEC("struct_ops")							\
	void BPF_PROG(NAME##_event, struct sock *sk, enum tcp_ca_event event)	\
	{									\
		cubictcp_cwnd_event(sk, event);					\
	}									\
	SEC("struct_ops")							\
	__u32 BPF_PROG(NAME##_undo, struct sock *sk)				\
	{									\
		return tcp_reno_undo_cwnd(sk);					\
	}
#define CUBIC_OPERATIONS(NAME)							\
	.set_state = (void *)NAME##_state, .cwnd_event = (void *)NAME##_event,	\
	.undo_cwnd = (void *)NAME##_undo

/* The same of a loss, where NAME has nothing to do at one. */
#define CUBIC_SSTHRESH(NAME)							\
	SEC("struct_ops")							\
	__u32 BPF_PROG(NAME##_ssthresh, struct sock *sk)			\
	{									\
		return cubictcp_recalc_ssthresh(sk);				\
	}

/* The same of an acknowledgement, where NAME decides elsewhere. */
#define CUBIC_ACKED(NAME)							\
	SEC("struct_ops")							\
	void BPF_PROG(NAME##_acked, struct sock *sk, const struct ack_sample *sample) \
	{									\
		cubictcp_acked(sk, sample);					\
	}

#endif

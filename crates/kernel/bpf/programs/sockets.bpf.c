// SPDX-License-Identifier: MIT OR GPL-2.0
/* Lists the TCP sockets of the reader's network namespace that use a scheme of ours, as an array of `struct listed`. Read by
 * `cellcc tcp watch`; the sockets are not disturbed. */
#include "socket.h"
#include "name.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* include/linux/bpf.h and net/ipv4/tcp_ipv4.c */
struct bpf_iter_meta {
	struct seq_file *seq;
} KERNEL_TYPE;

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
} KERNEL_TYPE;

/* The kernel's struct tcp_congestion_ops once more: libbpf leaves out what follows three underscores. */
struct tcp_congestion_ops___named {
	char name[16];
} KERNEL_TYPE;

/* The Rust side: src/recording/sockets.rs. */
struct listed {
	char scheme[16];
	struct socket_name socket;
	__u64 pacing_rate, state[13];
	__u32 srtt_us, min_rtt_us, cwnd, ssthresh, packets_out, lost;
};

/* Names of ours: `cellcc_...`, and one that is too long for that. */
static __always_inline bool is_ours(const char *name)
{
	return !__builtin_memcmp(name, "cellcc_", 7) || !__builtin_memcmp(name, "reminis_cubic", 13);
}

/* A function of its own, so that the object describes `struct listed`. */
static __attribute__((noinline)) long put(struct seq_file *list, struct listed *listed)
{
	return bpf_seq_write(list, listed, sizeof(*listed));
}

SEC("iter/tcp")
int list_sockets(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	struct tcp_sock *tp = common ? bpf_skc_to_tcp_sock(common) : 0;
	struct inet_connection_sock *connection = (struct inet_connection_sock *)tp;
	const struct tcp_congestion_ops___named *scheme;
	struct listed listed = {};

	if (!tp)
		return 0;
	scheme = (const void *)connection->icsk_ca_ops;
	if (!scheme)
		return 0;
	bpf_probe_read_kernel(listed.scheme, sizeof(listed.scheme), scheme->name);
	if (!is_ours(listed.scheme))
		return 0;
	listed.socket = name_of((struct sock *)tp);
	listed.pacing_rate = ((struct sock *)tp)->sk_pacing_rate;
	listed.srtt_us = tp->srtt_us >> 3;
	listed.min_rtt_us = tp->rtt_min.s[0].v;
	listed.cwnd = tp->snd_cwnd;
	listed.ssthresh = tp->snd_ssthresh;
	listed.packets_out = tp->packets_out;
	listed.lost = tp->lost;
	bpf_probe_read_kernel(listed.state, sizeof(listed.state), connection->icsk_ca_priv);
	put(context->meta->seq, &listed);
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The kernel's types, as far as the programs use them. libbpf finds every field by its name in the type information of the
 * running kernel (preserve_access_index), so that neither offsets nor the fields left out matter. */
#ifndef CELLCC_KERNEL_H
#define CELLCC_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false = 0, true = 1 };

/* include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_F_NO_PREALLOC = 1 };
enum { BPF_SK_STORAGE_GET_F_CREATE = 1 };

/* include/linux/socket.h */
enum { AF_INET6 = 10 };

/* include/net/tcp.h */
enum { TCP_CONG_NON_RESTRICTED = 1 };
/* include/uapi/linux/tcp.h: the states of loss recovery */
enum { TCP_CA_Open = 0, TCP_CA_Disorder = 1, TCP_CA_CWR = 2, TCP_CA_Recovery = 3, TCP_CA_Loss = 4 };

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct in6_addr {
	__u8 in6_u[16];
};

struct sock_common {
	__be32 skc_daddr;
	__be16 skc_dport;
	__u16 skc_num;
	__u16 skc_family;
	struct in6_addr skc_v6_daddr;
} KERNEL_TYPE;

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	__u32 sk_pacing_status;
} KERNEL_TYPE;

struct tcp_congestion_ops;

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[13];
} KERNEL_TYPE;

/* include/linux/win_minmax.h */
struct minmax_sample {
	__u32 t, v;
} KERNEL_TYPE;

struct minmax {
	struct minmax_sample s[3];
} KERNEL_TYPE;

struct tcp_sock {
	__u64 tcp_mstamp;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 snd_cwnd_clamp;
	__u32 delivered;
	__u32 lost;
	__u32 mss_cache;
	__u16 tcp_header_len;
	__u32 packets_out;
	__u32 max_packets_out;
	__u32 lost_out;
	__u32 data_segs_out;
	__u32 srtt_us;
	__u32 rttvar_us;
	struct minmax rtt_min;
	__u8 is_cwnd_limited : 1;
} KERNEL_TYPE;

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
	__u32 in_flight;
} KERNEL_TYPE;

struct rate_sample {
	__u32 prior_delivered;
	__s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	__u32 acked_sacked;
	bool is_app_limited;
} KERNEL_TYPE;

/* include/net/tcp.h */
enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_CWND_RESTART = 1,
	CA_EVENT_COMPLETE_CWR = 2,
	CA_EVENT_LOSS = 3,
};

/* Matched with the kernel's by the names of its members. */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*undo_cwnd)(struct sock *sk);
	__u32 (*sndbuf_expand)(struct sock *sk);
	void (*init)(struct sock *sk);
	__u32 flags;
	char name[16];
};

/* The map NAME, which has a struct VALUE for a socket. */
#define SOCKET_MAP(NAME, VALUE)							\
	struct {								\
		__uint(type, BPF_MAP_TYPE_SK_STORAGE);				\
		__uint(map_flags, BPF_F_NO_PREALLOC);				\
		__type(key, int);						\
		__type(value, struct VALUE);					\
	} NAME SEC(".maps");

#endif

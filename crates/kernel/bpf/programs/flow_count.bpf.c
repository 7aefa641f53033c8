// SPDX-License-Identifier: MIT OR GPL-2.0
/* The paper's way for beta: a user's device says in a TCP option of its acknowledgements how many flows it has, and the server
 * divides the bandwidth by that number. `tell_flows` runs on the device, `hear_flows` on the server; each is attached to a control
 * group, and acts on connections that begin afterwards.
 *
 * The option, on segments without data (others would have less room for data):
 *
 *     254 | 6 | 0xce11, the number of this experiment (RFC 6994) | flows, in network byte order
 *
 * Differences from the paper: it does not say how beta travels. 0xce11 is not registered; both ends must be ours. */
#include "peer_flows.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The context of the program type, include/uapi/linux/bpf.h: not of the kernel's own types, hence at fixed places. */
struct bpf_sock_ops {
	__u32 op, args[4], family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port;
	__u32 is_fullsock, snd_cwnd, srtt_us, bpf_sock_ops_cb_flags, state, rtt_min, snd_ssthresh, rcv_nxt, snd_nxt;
	__u32 snd_una, mss_cache, ecn_flags, rate_delivered, rate_interval_us, packets_out, retrans_out, total_retrans;
	__u32 segs_in, data_segs_in, segs_out, data_segs_out, lost_out, sacked_out, sk_txhash;
	__u64 bytes_received, bytes_acked;
	void *sk, *skb_data, *skb_data_end;
	__u32 skb_len, skb_tcp_flags;
};

/* include/uapi/linux/bpf.h */
enum {
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_PARSE_HDR_OPT_CB = 13,
	BPF_SOCK_OPS_HDR_OPT_LEN_CB = 14,
	BPF_SOCK_OPS_WRITE_HDR_OPT_CB = 15,
};
enum { BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG = 1 << 5, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG = 1 << 6 };

struct flow_count_option {
	__u8 kind, length;
	__be16 experiment, flows;
};

/* RFC 4727: kinds 253 and 254 are for experiments. */
enum { EXPERIMENTAL = 254, EXPERIMENT = 0xce11 };
/* Of an experimental option, bpf_load_hdr_opt compares the number, too. */
enum { SEARCHED_LENGTH = 4 };
enum { DONE = 1 };

/* The device's flows. Zero: nothing is reported. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} own_flows SEC(".maps");

static __always_inline bool is_established(const struct bpf_sock_ops *context)
{
	return context->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB || context->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB;
}

/* Besides what other programs want of this socket. */
static __always_inline void want(struct bpf_sock_ops *context, __u32 flag)
{
	bpf_sock_ops_cb_flags_set(context, context->bpf_sock_ops_cb_flags | flag);
}

static __always_inline __u32 flows_to_tell(void)
{
	__u32 only = 0;
	__u32 *flows = bpf_map_lookup_elem(&own_flows, &only);

	return flows ? *flows : 0;
}

SEC("sockops")
int tell_flows(struct bpf_sock_ops *context)
{
	struct flow_count_option option = {
		.kind = EXPERIMENTAL,
		.length = sizeof(option),
		.experiment = __builtin_bswap16(EXPERIMENT),
	};

	if (is_established(context)) {
		want(context, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
	} else if (context->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB) {
		/* args[0]: the kernel asks for no packet of its own. The header is not yet part of the length. */
		if (context->args[0] == 0 && context->skb_len == 0 && flows_to_tell())
			bpf_reserve_hdr_opt(context, sizeof(option), 0);
	} else if (context->op == BPF_SOCK_OPS_WRITE_HDR_OPT_CB) {
		option.flows = __builtin_bswap16(flows_to_tell());
		bpf_store_hdr_opt(context, &option, sizeof(option), 0);
	}
	return DONE;
}

SEC("sockops")
int hear_flows(struct bpf_sock_ops *context)
{
	struct flow_count_option option = {
		.kind = EXPERIMENTAL,
		.length = SEARCHED_LENGTH,
		.experiment = __builtin_bswap16(EXPERIMENT),
	};
	void *sk = context->sk;
	struct peer_flows *heard;

	if (is_established(context))
		want(context, BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
	if (context->op != BPF_SOCK_OPS_PARSE_HDR_OPT_CB || !sk)
		return DONE;
	if (bpf_load_hdr_opt(context, &option, sizeof(option), 0) != sizeof(option))
		return DONE;
	heard = bpf_sk_storage_get(&peer_flows_1, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!heard)
		return DONE;
	heard->at_us = bpf_ktime_get_ns() / 1000;
	heard->count = __builtin_bswap16(option.flows);
	return DONE;
}

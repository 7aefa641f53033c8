// SPDX-License-Identifier: MIT OR GPL-2.0
/* Counts what passes an interface towards and from each user, and measures the round-trip times of users' TCP by sequence
 * numbers and acknowledgements. The interface leads towards the users: what leaves by it goes to them. Packets pass unchanged.
 * Needs no type information of the kernel. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The context of the program type, include/uapi/linux/bpf.h: not of the kernel's own types, hence at fixed places. */
struct __sk_buff {
	__u32 len, pkt_type, mark, queue_mapping, protocol, vlan[3], priority, ingress_ifindex, ifindex, tc_index, cb[5], hash;
	__u32 tc_classid, data, data_end, napi_id, family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port;
	__u32 local_port, data_meta;
	__u64 flow_keys, tstamp;
	__u32 wire_len, gso_segs;
};

/* include/uapi/linux/bpf.h: leave the packet to the next program */
enum { TCX_NEXT = -1, BPF_HDR_START_NET = 1 };
/* include/uapi/linux/if_ether.h, in network order; include/uapi/linux/in.h; RFC 9293, section 3.1 */
enum { ETH_P_IP = 0x0008, ETH_P_IPV6 = 0xdd86, IPPROTO_TCP = 6, TCP_ACK = 0x10 };
/* So many packets of a flow are timed at once: one each 32nd of the RTT, since a queue changes little in that time. A power of
 * two. */
enum { TIMED = 32 };
/* The kernel's own window of the minimum RTT, tcp_min_rtt_wlen: 300 s. */
#define MIN_RTT_WINDOW_US 300000000ULL
/* A rise of the RTT by an eighth, but by 4 ms at least and 16 ms at most, is a queue: RFC 9406, section 4.3. */
enum { MIN_RISE_US = 4000, MAX_RISE_US = 16000 };
enum { NEVER = 0xffffffff };

/* include/uapi/linux/bpf.h: the kernel knows it by its name. */
struct bpf_spin_lock {
	__u32 val;
};

/* What is known of a user. The Rust side: src/host_counters.rs. */
struct user {
	/* Of the user and all its flows. */
	struct bpf_spin_lock lock;
	/* The last RTT; the smallest of this window, and of the one before. NEVER: none. */
	__u32 rtt_us, min_rtt_us, min_rtt_before_us;
	__u64 window_began_us, acked_at_us;
	/* Bytes with IP headers: towards the user, from it, and those that arrived there. An acknowledgement that ends a loss
	 * recovery tells of what arrived long before: it is left out. */
	__u64 sent, received, delivered;
	/* How long packets are known to have waited on the way to the user. */
	__u64 busy_us;
	/* How often the RTT was measured. */
	__u64 measurements;
};

struct address {
	__u8 bytes[16];
};

struct flow_name {
	struct address user, peer;
	__be16 user_port, peer_port;
};

struct timed {
	__u32 end, sent_at_us;
};

struct flow {
	/* Sequence numbers: the highest that was sent, what is acknowledged, and where the last loss recovery ends. */
	__u32 sent, acked, recovered;
	/* The largest payload of a packet, and the headers of one. */
	__u32 segment, headers;
	/* Packets whose acknowledgement is waited for: newest, oldest. */
	__u32 newest, oldest, timed_at_us;
	struct timed timed[TIMED];
};

/* The users' addresses, and which user each is of. Of other addresses nothing is counted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct address);
	__type(value, __u32);
} addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct user);
} users SEC(".maps");

/* A flow that is forgotten for lack of room begins anew. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow_name);
	__type(value, struct flow);
} flows SEC(".maps");

/* A packet as far as it matters here. */
struct packet {
	struct address source, destination;
	__be16 source_port, destination_port;
	__u32 sequence, acknowledgement;
	/* With IP headers, of all segments together; headers of one segment; payload. */
	__u32 bytes, headers, payload;
	bool is_tcp, has_ack;
};

struct ipv4 {
	__u8 version_and_words, tos;
	__be16 length, id, fragment;
	__u8 ttl, protocol;
	__u16 checksum;
	__u8 source[4], destination[4];
};

struct ipv6 {
	__be32 flow;
	__be16 length;
	__u8 protocol, hops;
	struct address source, destination;
};

struct tcp {
	__be16 source, destination;
	__be32 sequence, acknowledgement;
	__u8 words, flags;
};

static __always_inline __u32 host16(__be16 value)
{
	return __builtin_bswap16(value);
}

static __always_inline struct address mapped(const __u8 address[4])
{
	struct address result = {};

	result.bytes[10] = result.bytes[11] = 0xff;
	__builtin_memcpy(result.bytes + 12, address, 4);
	return result;
}

/* Reads a packet; false where it is not IP. */
static __always_inline bool parse(struct __sk_buff *skb, struct packet *packet)
{
	__u32 segments = skb->gso_segs ? skb->gso_segs : 1, ip_headers, protocol;
	struct tcp tcp;

	if (skb->protocol == ETH_P_IP) {
		struct ipv4 ip;

		if (bpf_skb_load_bytes_relative(skb, 0, &ip, sizeof(ip), BPF_HDR_START_NET))
			return false;
		packet->source = mapped(ip.source);
		packet->destination = mapped(ip.destination);
		packet->bytes = host16(ip.length);
		ip_headers = (ip.version_and_words & 15) * 4;
		/* Only the first fragment has a TCP header, and not its length. */
		protocol = ip.fragment & __builtin_bswap16(0x3fff) ? 0 : ip.protocol;
	} else if (skb->protocol == ETH_P_IPV6) {
		struct ipv6 ip;

		if (bpf_skb_load_bytes_relative(skb, 0, &ip, sizeof(ip), BPF_HDR_START_NET))
			return false;
		packet->source = ip.source;
		packet->destination = ip.destination;
		ip_headers = sizeof(ip);
		packet->bytes = ip.length ? host16(ip.length) + ip_headers : 0;
		protocol = ip.protocol;
	} else {
		return false;
	}
	/* Longer than its field can say: the length with the link's header. */
	if (!packet->bytes)
		packet->bytes = skb->len;
	packet->is_tcp = protocol == IPPROTO_TCP
		&& !bpf_skb_load_bytes_relative(skb, ip_headers, &tcp, sizeof(tcp), BPF_HDR_START_NET);
	if (!packet->is_tcp)
		return true;
	packet->source_port = tcp.source;
	packet->destination_port = tcp.destination;
	packet->sequence = __builtin_bswap32(tcp.sequence);
	packet->acknowledgement = __builtin_bswap32(tcp.acknowledgement);
	packet->has_ack = tcp.flags & TCP_ACK;
	packet->headers = ip_headers + (tcp.words >> 4) * 4;
	packet->payload = packet->bytes > packet->headers ? packet->bytes - packet->headers : 0;
	/* Segmentation later gives each segment headers of its own. */
	packet->bytes += (segments - 1) * packet->headers;
	return true;
}

static __always_inline struct user *user_of(const struct address *address)
{
	__u32 *index = bpf_map_lookup_elem(&addresses, address);

	return index ? bpf_map_lookup_elem(&users, index) : 0;
}

/* Whether the sequence number comes after the other. */
static __always_inline bool after(__u32 one, __u32 other)
{
	return (__s32)(one - other) > 0;
}

static __always_inline __u32 smaller(__u32 one, __u32 other)
{
	return one < other ? one : other;
}

/* Remembers when a packet left, where there is room and the last one was long enough before. */
static __always_inline void time_packet(struct flow *flow, __u32 end, __u32 now_us, __u32 rtt_us)
{
	struct timed *timed = &flow->timed[flow->newest & (TIMED - 1)];

	if (flow->newest - flow->oldest == TIMED)
		return;
	if (flow->newest != flow->oldest && rtt_us != NEVER && now_us - flow->timed_at_us < rtt_us / TIMED)
		return;
	timed->end = end;
	timed->sent_at_us = now_us;
	flow->timed_at_us = now_us;
	flow->newest++;
}

/* Data leave for the user. */
static __always_inline void on_sent(struct user *user, struct flow *flow, const struct packet *packet, __u32 segments,
				    __u32 now_us)
{
	__u32 end = packet->sequence + packet->payload, segment = packet->payload / segments;

	flow->headers = packet->headers;
	if (segment > flow->segment)
		flow->segment = segment;
	if (!after(end, flow->sent)) {
		/* A retransmission: which of the two an acknowledgement is for is not known (Karn's algorithm, RFC 6298). */
		flow->oldest = flow->newest;
		flow->recovered = flow->sent;
		return;
	}
	flow->sent = end;
	time_packet(flow, end, now_us, user->rtt_us);
}

/* The RTT of the newest packet that is acknowledged; NEVER where none was timed. */
static __always_inline __u32 take_rtt(struct flow *flow, __u32 now_us)
{
	__u32 rtt_us = NEVER;

	for (int i = 0; i < TIMED; i++) {
		struct timed *timed = &flow->timed[flow->oldest & (TIMED - 1)];

		if (flow->oldest == flow->newest || after(timed->end, flow->acked))
			break;
		rtt_us = now_us - timed->sent_at_us;
		flow->oldest++;
	}
	return rtt_us;
}

static __always_inline void on_rtt(struct user *user, __u32 rtt_us, __u64 now_us)
{
	if (now_us - user->window_began_us >= MIN_RTT_WINDOW_US) {
		user->window_began_us = now_us;
		user->min_rtt_before_us = user->min_rtt_us;
		user->min_rtt_us = NEVER;
	}
	user->min_rtt_us = smaller(user->min_rtt_us, rtt_us);
	user->rtt_us = rtt_us;
	user->measurements++;
}

/* Whether packets have waited for the user since the acknowledgement before this one. The oldest timed packet that this one does
 * not cover says so: it has not arrived, and what waited for q was in a queue for all of the last q. A packet that is covered would
 * say less: its acknowledgement may have been delayed by the receiver. */
static __always_inline bool was_busy(const struct user *user, const struct flow *flow, __u64 now_us)
{
	__u32 min_rtt_us = smaller(user->min_rtt_us, user->min_rtt_before_us);
	__u32 rise_us = min_rtt_us / 8;
	__u32 age_us = (__u32)now_us - flow->timed[flow->oldest & (TIMED - 1)].sent_at_us;

	if (flow->oldest == flow->newest || min_rtt_us == NEVER || age_us <= min_rtt_us)
		return false;
	if (rise_us < MIN_RISE_US)
		rise_us = MIN_RISE_US;
	rise_us = smaller(rise_us, MAX_RISE_US);
	return age_us - min_rtt_us >= rise_us && age_us - min_rtt_us >= now_us - user->acked_at_us;
}

/* The user acknowledges data. */
static __always_inline void on_acked(struct user *user, struct flow *flow, __u32 acknowledgement, __u64 now_us)
{
	__u32 advance = acknowledgement - flow->acked, rtt_us;
	bool is_recovering = after(flow->recovered, flow->acked);

	if (!after(acknowledgement, flow->acked))
		return;
	flow->acked = acknowledgement;
	if (after(acknowledgement, flow->sent)) {
		/* Of data that went another way. */
		flow->sent = acknowledgement;
		flow->oldest = flow->newest;
		return;
	}
	if (!is_recovering && flow->segment)
		user->delivered += advance + (advance + flow->segment - 1) / flow->segment * flow->headers;
	rtt_us = take_rtt(flow, now_us);
	if (rtt_us != NEVER)
		on_rtt(user, rtt_us, now_us);
	if (!is_recovering && was_busy(user, flow, now_us))
		user->busy_us += now_us - user->acked_at_us;
	user->acked_at_us = now_us;
}

/* The user whose packet it is and the packet itself; 0 where it is nobody's in the table. */
static __always_inline struct user *read_packet(struct __sk_buff *skb, struct packet *packet, bool is_towards_user)
{
	if (!parse(skb, packet))
		return 0;
	return user_of(is_towards_user ? &packet->destination : &packet->source);
}

/* The flow towards a user that this segment carries data of. One that is not known begins with it. */
static __always_inline struct flow *flow_of_data(const struct packet *packet)
{
	struct flow_name name = {
		.user = packet->destination,
		.peer = packet->source,
		.user_port = packet->destination_port,
		.peer_port = packet->source_port,
	};
	struct flow *flow = bpf_map_lookup_elem(&flows, &name);
	struct flow begun = {
		.sent = packet->sequence,
		.acked = packet->sequence,
		.recovered = packet->sequence,
	};

	if (flow)
		return flow;
	bpf_map_update_elem(&flows, &name, &begun, 0);
	return bpf_map_lookup_elem(&flows, &name);
}

/* The flow towards a user that this segment acknowledges data of; 0 where none is known. */
static __always_inline struct flow *flow_of_ack(const struct packet *packet)
{
	struct flow_name name = {
		.user = packet->source,
		.peer = packet->destination,
		.user_port = packet->source_port,
		.peer_port = packet->destination_port,
	};

	return bpf_map_lookup_elem(&flows, &name);
}

SEC("tcx/egress")
int towards_users(struct __sk_buff *skb)
{
	__u64 now_us = bpf_ktime_get_ns() / 1000;
	struct packet packet = {};
	struct flow *flow = 0;
	struct user *user = read_packet(skb, &packet, true);

	if (!user)
		return TCX_NEXT;
	if (packet.is_tcp && packet.payload)
		flow = flow_of_data(&packet);
	bpf_spin_lock(&user->lock);
	user->sent += packet.bytes;
	/* Nobody tells whether the user has it. */
	if (!packet.is_tcp)
		user->delivered += packet.bytes;
	if (flow)
		on_sent(user, flow, &packet, skb->gso_segs ? skb->gso_segs : 1, now_us);
	bpf_spin_unlock(&user->lock);
	return TCX_NEXT;
}

SEC("tcx/ingress")
int from_users(struct __sk_buff *skb)
{
	__u64 now_us = bpf_ktime_get_ns() / 1000;
	struct packet packet = {};
	struct flow *flow = 0;
	struct user *user = read_packet(skb, &packet, false);

	if (!user)
		return TCX_NEXT;
	if (packet.is_tcp && packet.has_ack)
		flow = flow_of_ack(&packet);
	bpf_spin_lock(&user->lock);
	user->received += packet.bytes;
	if (flow)
		on_acked(user, flow, packet.acknowledgement, now_us);
	bpf_spin_unlock(&user->lock);
	return TCX_NEXT;
}

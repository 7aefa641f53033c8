/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What a socket is called in user space. */
#ifndef CELLCC_NAME_H
#define CELLCC_NAME_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>

/* Which socket a step is of, and of which core. The Rust side: src/recording/verification.rs. */
struct socket_name {
	__u8 peer[16]; /* IPv6, or IPv4 as ::ffff:a.b.c.d */
	__u16 peer_port, own_port;
	__u32 core; /* its number in src/schemes/mod.rs */
};

static __always_inline struct socket_name name_of(struct sock *sk)
{
	struct sock_common *common = &sk->__sk_common;
	struct socket_name name = { .own_port = common->skc_num, .peer_port = __builtin_bswap16(common->skc_dport) };

	if (common->skc_family == AF_INET6) {
		__builtin_memcpy(name.peer, common->skc_v6_daddr.in6_u, 16);
	} else {
		__u32 peer = common->skc_daddr;

		name.peer[10] = name.peer[11] = 0xff;
		__builtin_memcpy(&name.peer[12], &peer, 4);
	}
	return name;
}

#endif

// SPDX-License-Identifier: MIT OR GPL-2.0
/* Takes two options of TCP sockets for the schemes: a program sets its own delay target or window with setsockopt, and needs
 * no right for it. Attached to a control group; elsewhere the kernel answers ENOPROTOOPT, as without it. */
#include "socket_settings.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The context of the program type, include/uapi/linux/bpf.h: not of the kernel's own types, hence at fixed places. */
struct bpf_sockopt {
	void *sk;
	void *optval, *optval_end;
	__s32 level, optname, optlen, retval;
};

enum { IPPROTO_TCP = 6 };
/* Of the range that no kernel's option is in. The Rust side: src/socket_options.rs. */
enum { CELLCC_TARGET_US = 0x7d01, CELLCC_ALPHA = 0x7d02 };
enum { ALLOW = 1, REFUSE = 0 };

SEC("cgroup/setsockopt")
int set_option(struct bpf_sockopt *context)
{
	struct socket_settings *settings;
	__u32 *value = context->optval;
	bool is_target = context->optname == CELLCC_TARGET_US;

	if (context->level != IPPROTO_TCP || (!is_target && context->optname != CELLCC_ALPHA))
		return ALLOW;
	if (context->optlen != sizeof(*value) || (void *)(value + 1) > context->optval_end || !context->sk)
		return REFUSE;
	settings = bpf_sk_storage_get(&socket_settings, context->sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!settings)
		return REFUSE;
	if (is_target)
		settings->target_us = *value;
	else
		settings->alpha = *value;
	/* Done: the kernel does not see it. */
	context->optlen = -1;
	return ALLOW;
}

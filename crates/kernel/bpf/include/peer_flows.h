/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What a user's device says of its flows, in a TCP option (flow_count.bpf.c). */
#ifndef CELLCC_PEER_FLOWS_H
#define CELLCC_PEER_FLOWS_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>

struct peer_flows {
	__u64 at_us; /* when the last option came: CLOCK_MONOTONIC, in microseconds */
	__u64 count; /* the device's flows (beta) */
};

/* As long as NetAssist believes a device (OWN_FLOWS_FOR in crates/assist/src/user_model.rs). */
enum { PEER_FLOWS_LAST_US = 5000000 };

/* The number in the name is the version of this layout. */
SOCKET_MAP(peer_flows_1, peer_flows)

#endif

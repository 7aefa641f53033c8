/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What a program has set for one socket with setsockopt (socket_option.bpf.c). */
#ifndef CELLCC_SOCKET_SETTINGS_H
#define CELLCC_SOCKET_SETTINGS_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>

/* Zero: as for all sockets. */
struct socket_settings {
	__u32 target_us; /* Reminis: the target RTT (DTT), in microseconds */
	__u32 alpha;     /* NATCP and NACubic: the window in BDPs, in units of 2^-16 */
};

SOCKET_MAP(socket_settings, socket_settings)

#endif

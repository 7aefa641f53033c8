//! Invariants of every scheme.

mod every_scheme;
mod gcc_and_goog_cc;
mod marks_and_packet_sizes;

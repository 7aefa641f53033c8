//! What every scheme keeps to.

mod every_scheme;
mod gcc_and_goog_cc;
mod marks_and_packet_sizes;

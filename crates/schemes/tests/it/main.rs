//! What every scheme keeps to.

mod every_scheme;
mod marks_and_packet_sizes;

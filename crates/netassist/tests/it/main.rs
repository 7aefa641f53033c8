//! The service without a clock and without a socket.

mod tree;

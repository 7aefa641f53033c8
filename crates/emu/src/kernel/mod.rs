//! The driver for the kernel's own TCP.

mod conversation;
mod packet;
mod watch;

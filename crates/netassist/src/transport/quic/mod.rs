//! The service's end of QUIC.

mod connected;
mod listener;
mod restart;

pub(super) use connected::Connected;
pub(super) use listener::Listener;

pub use listener::BindError;

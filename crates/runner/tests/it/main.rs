//! The runner, with a driver that measures nothing.

#![allow(clippy::disallowed_methods, reason = "these runs take real time")]

mod collect;
mod common;
mod damage;
mod folder;
mod many;
mod writing;

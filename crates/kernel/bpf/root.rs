//! The integer cores as the crate that becomes BPF: `tools/kernel-objects` compiles it with `crates/fixed`, and links it with
//! each program in C. The host has the same steps as a module of `cellcc-kernel`.

#![no_std]

pub mod steps;

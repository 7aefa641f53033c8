//! The command from outside, except in real time.

#[path = "../common/mod.rs"]
mod common;

mod assist;
mod bad_input;
mod bad_traces;
mod check;
mod commands;
mod compare;
mod documents;
mod earlier;
mod explain;
mod foreign_files;
mod l4s;
#[cfg(target_os = "linux")]
mod mahimahi;
mod output_folder;
mod printed_names;
mod replay;
mod reproduce;
mod results;
mod score;
mod statements;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod tcp;
mod view;
mod writers;

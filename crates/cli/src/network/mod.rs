//! The feature `network`: commands and drivers with sockets, programs or the kernel's TCP. In a build without it
//! `without_network.rs` stands in its place.

mod advice;
mod assist;
#[cfg(target_os = "linux")]
mod emulator;
mod own_flows;
mod process;
mod repeat;
#[cfg(all(target_os = "linux", feature = "kernel"))]
pub(crate) mod tcp;
#[cfg(target_os = "linux")]
pub(crate) mod trace;
mod transfer;
mod url;
#[cfg(target_os = "linux")]
mod video;
mod view;

use crate::exit::Exit;
#[cfg(all(target_os = "linux", not(feature = "kernel")))]
use crate::without_kernel as tcp;
use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show the live report of a folder while its runs go on.
    View(view::Args),
    /// Summarise and plot the packet log of an emulated link.
    #[cfg(target_os = "linux")]
    Graph(emulator::graph::Args),
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    Mahimahi(emulator::mahimahi::Command),
    /// Run a program over an emulated link.
    #[cfg(target_os = "linux")]
    Shell(Box<emulator::shell::Args>),
    /// Check whether this machine can emulate links.
    #[cfg(target_os = "linux")]
    Doctor(emulator::Doctor),
    /// Load schemes into the kernel's TCP, for all programs on this machine.
    #[cfg(target_os = "linux")]
    #[cfg_attr(feature = "kernel", command(subcommand))]
    Tcp(tcp::Command),
    /// Measure a download over QUIC from `cellcc serve`.
    Get(Box<transfer::Get>),
    /// Measure an upload over QUIC to `cellcc serve`.
    Put(Box<transfer::Put>),
    /// Serve `cellcc get` and `cellcc put`, and curl and browsers over HTTP/3.
    Serve(Box<transfer::serve::Args>),
    /// Test schemes with a video, a web page or frames in Chromium over an emulated link.
    #[cfg(target_os = "linux")]
    Video(Box<video::Args>),
    /// Network assistance (NetAssist): report each user's bottleneck bandwidth to servers.
    #[command(subcommand)]
    Assist(assist::Command),
}

pub(crate) fn run(command: Command) -> Result<ExitCode, Exit> {
    match command {
        Command::View(args) => view::run(&args),
        #[cfg(target_os = "linux")]
        Command::Graph(args) => emulator::graph::run(&args).map(|()| ExitCode::SUCCESS),
        #[cfg(target_os = "linux")]
        Command::Mahimahi(command) => emulator::mahimahi::run(command),
        #[cfg(target_os = "linux")]
        Command::Shell(args) => emulator::shell::run(*args),
        #[cfg(target_os = "linux")]
        Command::Doctor(args) => emulator::doctor(&args).map(|()| ExitCode::SUCCESS),
        #[cfg(target_os = "linux")]
        Command::Tcp(command) => tcp::run(&command),
        Command::Get(args) => transfer::get(*args),
        Command::Put(args) => transfer::put(*args),
        Command::Serve(args) => transfer::serve::run(*args),
        #[cfg(target_os = "linux")]
        Command::Video(args) => video::run(&args),
        Command::Assist(command) => assist::run(command),
    }
}

/// The arguments; those of a call by one of Mahimahi's names as ours.
pub(crate) fn arguments() -> Vec<OsString> {
    #[cfg(target_os = "linux")]
    return emulator::mahimahi::by_name(env::args_os());
    #[cfg(not(target_os = "linux"))]
    env::args_os().collect()
}

//! A server's and a client's network namespace, with a link between them.

use crate::kernel::run;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

pub(crate) const SERVER: &str = "cellcc-test-server";
pub(crate) const CLIENT: &str = "cellcc-test-client";
/// The server's address, and the client's two.
pub(crate) const SERVER_ADDRESS: &str = "10.99.0.1";
pub(crate) const CELLULAR_ADDRESS: &str = "10.99.0.130";
pub(crate) const OTHER_ADDRESS: &str = "10.99.0.2";
/// The prefix of the first of the client's addresses.
pub(crate) const CELLULAR_PREFIX: &str = "10.99.0.128/25";

/// The namespaces, which go with this value.
pub(crate) struct Spaces;

impl Spaces {
    pub(crate) fn build() -> Self {
        // Those of a killed test.
        drop(Self);
        let spaces = Self;
        for command in [
            format!("netns add {SERVER}"),
            format!("netns add {CLIENT}"),
            format!("link add s netns {SERVER} type veth peer name c netns {CLIENT}"),
            format!("-n {SERVER} address add {SERVER_ADDRESS}/24 dev s"),
            format!("-n {CLIENT} address add {OTHER_ADDRESS}/24 dev c"),
            format!("-n {CLIENT} address add {CELLULAR_ADDRESS}/24 dev c"),
            format!("-n {SERVER} link set s up"),
            format!("-n {CLIENT} link set c up"),
        ] {
            run("ip", &command.split(' ').collect::<Vec<_>>());
        }
        spaces
    }
}

impl Drop for Spaces {
    fn drop(&mut self) {
        for space in [SERVER, CLIENT] {
            let _ = Command::new("ip").args(["netns", "del", space]).stderr(Stdio::null()).status();
        }
    }
}

/// Runs `work` in a namespace. Programs that it starts are also there.
pub(crate) fn within<T: Send>(space: &str, work: impl FnOnce() -> T + Send) -> T {
    let file = File::open(format!("/run/netns/{space}")).expect("a namespace");
    let enter_and_work = || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("entered");
        work()
    };
    std::thread::scope(|scope| scope.spawn(enter_and_work).join().expect("no panic"))
}

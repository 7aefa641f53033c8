//! Two network namespaces with a veth pair between them.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::process::Command;

/// Where the receiver is.
pub(super) const RECEIVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 98, 0, 2));

const SENDER_SPACE: &str = "cellcc-cost-sender";
const RECEIVER_SPACE: &str = "cellcc-cost-receiver";

/// The namespaces, which go with this value.
pub(super) struct Spaces;

impl Spaces {
    pub(super) fn build() -> Self {
        let spaces = Self;
        for command in [
            format!("netns add {SENDER_SPACE}"),
            format!("netns add {RECEIVER_SPACE}"),
            format!("link add s netns {SENDER_SPACE} type veth peer name r netns {RECEIVER_SPACE}"),
            format!("-n {SENDER_SPACE} address add 10.98.0.1/24 dev s"),
            format!("-n {RECEIVER_SPACE} address add {RECEIVER}/24 dev r"),
            format!("-n {SENDER_SPACE} link set s up"),
            format!("-n {RECEIVER_SPACE} link set r up"),
        ] {
            let done = Command::new("ip").args(command.split(' ')).status().expect("ip");
            assert!(done.success(), "ip {command}");
        }
        spaces
    }
}

impl Drop for Spaces {
    fn drop(&mut self) {
        for space in [SENDER_SPACE, RECEIVER_SPACE] {
            let _ = Command::new("ip").args(["netns", "del", space]).status();
        }
    }
}

pub(super) fn enter_sender() {
    enter(SENDER_SPACE);
}

pub(super) fn enter_receiver() {
    enter(RECEIVER_SPACE);
}

/// Takes the calling thread, and those that it starts, into a namespace.
fn enter(space: &str) {
    let file = File::open(format!("/run/netns/{space}")).expect("a namespace");
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("entered");
}

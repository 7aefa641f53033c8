//! An ordinary user can build topologies in each other: a user namespace gives the rights, and programs inside keep them.
//!
//! Root starts this program again as an ordinary user, which starts it again inside.

#![allow(clippy::disallowed_methods, reason = "real time has clocks, threads and sockets")]

#[path = "real_time/common/mod.rs"]
mod common;

use cellcc_emu::device::Backend;
use cellcc_emu::namespace::enter_user_namespace_if_needed;
use cellcc_emu::topology::{Topology, TopologySpec};
use common::{can_run, carrying, exchange, output_in, socket_in, spec};
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const ROLE: &str = "CELLCC_TEST_ROLE";

fn main() {
    match env::var(ROLE).as_deref() {
        Ok("user") => as_ordinary_user(),
        Ok(_) => inside(),
        Err(_) => as_root(),
    }
}

fn as_root() {
    if !can_run() {
        return;
    }
    // Where the ordinary user can read it.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("test");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program);
    assert!(command.env(ROLE, "user").current_dir("/").status().unwrap().success());
}

fn as_ordinary_user() {
    assert!(enter_user_namespace_if_needed().unwrap(), "an ordinary user has no rights");
    // Ordinary users may have no access to the device file; veth needs none.
    let topology = Topology::build(&spec(1, Backend::Packet)).unwrap();
    let user = &topology.users[0];
    carrying(&topology, || {
        let outside = topology.outside().address4;
        exchange(
            &socket_in(&user.namespace, user.address4),
            &socket_in(&topology.outside().namespace, outside),
        );
        let answer = output_in(&user.namespace, &format!("ping -c 1 -W 20 {outside}"));
        assert!(answer.contains(" 0% packet loss"), "{answer}");
    });
    let mut nested = Command::new(env::current_exe().unwrap());
    user.namespace.command(&mut nested);
    assert!(nested.env(ROLE, "nested").status().unwrap().success());

    let whichever = TopologySpec { backend: None, ..spec(1, Backend::Packet) };
    Topology::build(&whichever).unwrap();
}

fn inside() {
    assert!(!enter_user_namespace_if_needed().unwrap(), "it has the rights already");
    let topology = Topology::build(&spec(1, Backend::Packet)).unwrap();
    assert_eq!(topology.outside().address4.octets(), [100, 64, 0, 2]);
}

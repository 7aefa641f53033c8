//! Only the clients of a prefix get a scheme: what a server does that knows nothing of it.

use crate::kernel::{Kernel, run};
use cellcc_kernel::{Scheme, Settings, routes};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;

use socket2::{Domain, SockRef, Socket, Type};

const SERVER: &str = "cellcc-test-server";
const CLIENT: &str = "cellcc-test-client";

/// Two namespaces, with a link between them.
struct Spaces;

impl Spaces {
    fn build() -> Self {
        let spaces = Self;
        for command in [
            format!("netns add {SERVER}"),
            format!("netns add {CLIENT}"),
            format!("link add s netns {SERVER} type veth peer name c netns {CLIENT}"),
            format!("-n {SERVER} address add 10.99.0.1/24 dev s"),
            format!("-n {CLIENT} address add 10.99.0.2/24 dev c"),
            format!("-n {CLIENT} address add 10.99.0.130/24 dev c"),
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
            let _ = std::process::Command::new("ip").args(["netns", "del", space]).status();
        }
    }
}

/// Runs `work` in a namespace.
fn within<T: Send>(space: &str, work: impl FnOnce() -> T + Send) -> T {
    let file = File::open(format!("/run/netns/{space}")).expect("a namespace");
    let enter_and_work = || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("entered");
        work()
    };
    std::thread::scope(|scope| scope.spawn(enter_and_work).join().expect("no panic"))
}

/// The scheme of the server's socket for a client at this address.
fn scheme_for(client: &str, listener: &TcpListener) -> String {
    let own: SocketAddr = format!("{client}:0").parse().expect("an address");
    let server = listener.local_addr().expect("an address");
    let _socket = within(CLIENT, || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&own.into()).expect("bound");
        socket.connect(&server.into()).expect("connected");
        socket
    });
    let (accepted, _) = listener.accept().expect("a connection");
    let name = SockRef::from(&accepted).tcp_congestion().expect("a scheme");
    String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned()
}

#[test]
fn a_server_uses_a_scheme_for_the_clients_of_a_route_and_no_others() {
    let Some(kernel) = Kernel::take() else { return };
    let scheme = Scheme::Reminis;
    kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    let _spaces = Spaces::build();
    let listener = within(SERVER, || TcpListener::bind("10.99.0.1:0")).expect("a listener");
    let [cellular, other] = ["10.99.0.130", "10.99.0.2"];
    let default = scheme_for(other, &listener);
    let add = || routes::add("10.99.0.128/25".parse().expect("a prefix"), scheme.name());
    within(SERVER, add).expect("a route");
    // Once more changes nothing.
    within(SERVER, add).expect("a route");
    assert_eq!(scheme_for(cellular, &listener), scheme.name());
    assert_eq!(scheme_for(other, &listener), default);
    let resets = kernel.pins.unload(scheme).expect("unloaded");
    assert_eq!(resets.len(), 1, "{resets:?}");
    assert_eq!(scheme_for(cellular, &listener), default);
    assert!(!run("ip", &["-n", SERVER, "route"]).contains("10.99.0.128"));
}

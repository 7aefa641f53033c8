//! Only the clients of a prefix get a scheme, with a server that knows nothing of it.

use crate::kernel::{Kernel, ours, run};
use crate::spaces::{
    CELLULAR_ADDRESS, CELLULAR_PREFIX, CLIENT, OTHER_ADDRESS, SERVER, SERVER_ADDRESS, Spaces, within,
};
use cellcc_kernel::{Settings, routes};
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, SockRef, Socket, Type};

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
    let scheme = ours("cellcc_reminis");
    kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    let _spaces = Spaces::build();
    let listener = within(SERVER, || TcpListener::bind(format!("{SERVER_ADDRESS}:0"))).expect("a listener");
    let [cellular, other] = [CELLULAR_ADDRESS, OTHER_ADDRESS];
    let default = scheme_for(other, &listener);
    let add = || routes::add(CELLULAR_PREFIX.parse().expect("a prefix"), scheme.name());
    within(SERVER, add).expect("a route");
    // Once more changes nothing.
    within(SERVER, add).expect("a route");
    assert_eq!(scheme_for(cellular, &listener), scheme.name());
    assert_eq!(scheme_for(other, &listener), default);
    let listed = || within(SERVER, routes::list).expect("a list");
    assert_eq!(listed(), [(CELLULAR_PREFIX.to_owned(), scheme)]);

    // One prefix is undone without unloading.
    let remove = || within(SERVER, || routes::remove(CELLULAR_PREFIX.parse().expect("a prefix")));
    assert_eq!(remove().expect("removed"), scheme);
    assert_eq!(scheme_for(cellular, &listener), default);
    assert!(listed().is_empty() && !run("ip", &["-n", SERVER, "route"]).contains("10.99.0.128"));
    let again = remove().expect_err("it is gone").to_string();
    assert!(again.contains(CELLULAR_PREFIX) && again.contains("route list"), "{again}");

    within(SERVER, add).expect("a route");
    let resets = kernel.pins.unload(scheme).expect("unloaded");
    assert_eq!(resets.len(), 1, "{resets:?}");
    assert_eq!(scheme_for(cellular, &listener), default);
    assert!(!run("ip", &["-n", SERVER, "route"]).contains("10.99.0.128"));
}

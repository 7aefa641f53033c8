//! Topologies as programs in them see them.

mod common;

use cellcc_emu::device::Device;
use common::{BACKENDS, can_run, isolated, next_packet};
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// A datagram from the user's side comes out of the user's device, is carried to the outside, and back again.
#[test]
fn datagrams_pass_both_ways_in_both_families() {
    if !can_run() {
        return;
    }
    for backend in BACKENDS {
        let topology = isolated(1, backend);
        let user = &topology.users[0];
        let pairs: [(IpAddr, IpAddr); 2] = [
            (topology.outside.address4.into(), user.address4.into()),
            (topology.outside.address6.into(), user.address6.into()),
        ];
        for (outside, inside) in pairs {
            let server = topology.outside.namespace.run(|| UdpSocket::bind((outside, 0))).unwrap().unwrap();
            let client = user.namespace.run(|| UdpSocket::bind((inside, 0))).unwrap().unwrap();
            let (server_at, client_at) = (server.local_addr().unwrap(), client.local_addr().unwrap());
            exchange((&client, &user.device), (&server, &topology.outside.device), server_at);
            exchange((&server, &topology.outside.device), (&client, &user.device), client_at);
        }
    }
}

fn exchange(from: (&UdpSocket, &Device), to: (&UdpSocket, &Device), address: SocketAddr) {
    let limit = Some(std::time::Duration::from_secs(5));
    to.0.set_read_timeout(limit).unwrap();
    from.0.send_to(b"a datagram", address).unwrap();
    let packet = next_packet(from.1, |packet| packet.ends_with(b"a datagram"));
    let (header, packet) = packet.split_first_chunk::<10>().unwrap();
    to.1.send(header, &packet[..28], &packet[28..]).unwrap();
    let mut buffer = [0; 100];
    let (length, sender) = to.0.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"a datagram");
    assert_eq!(sender, from.0.local_addr().unwrap());
}

//! Topologies as programs in them see them.

use crate::common::{
    BACKENDS, build, build_in, can_run, carrying, exchange, next_packet, output_in, socket_in, spec,
};
use cellcc_emu::device::Backend;
use cellcc_emu::namespace::Namespace;
use cellcc_emu::topology::Topology;
use cellcc_test_support::alone;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The back end, set where this program starts itself again in order to kill that process.
const ROLE: &str = "CELLCC_TEST_ROLE";

fn outside_and_user(topology: &Topology, user: usize) -> [(IpAddr, IpAddr); 2] {
    let (outside, user) = (topology.outside(), &topology.users[user]);
    [(outside.address4.into(), user.address4.into()), (outside.address6.into(), user.address6.into())]
}

#[test]
fn datagrams_pass_both_ways_between_the_outside_and_every_user() {
    if !can_run() {
        return;
    }
    let _alone = alone();
    for backend in BACKENDS {
        let topology = build(3, backend);
        carrying(&topology, || {
            for (index, user) in topology.users.iter().enumerate() {
                for (outside, inside) in outside_and_user(&topology, index) {
                    let server = socket_in(&topology.outside().namespace, outside);
                    let client = socket_in(&user.namespace, inside);
                    exchange(&client, &server);
                    exchange(&server, &client);
                }
            }
        });
        assert_eq!(topology.outside().device.dropped(), 0);
    }
}

#[test]
fn ping_and_iperf3_work_inside() {
    if !can_run() {
        return;
    }
    let _alone = alone();
    for backend in BACKENDS {
        let topology = build(1, backend);
        let user = &topology.users[0].namespace;
        carrying(&topology, || {
            for (outside, _) in outside_and_user(&topology, 0) {
                let answer = output_in(user, &format!("ping -c 2 -i 0.1 -W 20 {outside}"));
                assert!(answer.contains(" 0% packet loss"), "{answer}");
            }
            let mut server = Command::new("iperf3");
            server.args(["-s", "-1", "--forceflush"]).stdout(Stdio::piped());
            topology.outside().namespace.command(&mut server);
            let mut server = server.spawn().unwrap();
            let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
            said.find(|line| line.as_ref().unwrap().contains("listening"))
                .expect("the server listens")
                .unwrap();
            let answer = output_in(user, &format!("iperf3 -c {} -t 1", topology.outside().address4));
            assert!(answer.contains("iperf Done"), "{answer}");
            server.wait().unwrap();
        });
    }
}

#[test]
fn tcp_hands_over_super_packets_longer_than_the_mtu() {
    const BYTES: usize = 8 << 20;
    if !can_run() {
        return;
    }
    let _alone = alone();
    for backend in BACKENDS {
        for family in [0, 1] {
            let topology = build(1, backend);
            let (outside, _) = outside_and_user(&topology, 0)[family];
            let transfer = || {
                let listener =
                    topology.outside().namespace.run(|| TcpListener::bind((outside, 0))).unwrap().unwrap();
                let server = listener.local_addr().unwrap();
                let mut client =
                    topology.users[0].namespace.run(|| TcpStream::connect(server)).unwrap().unwrap();
                let (mut accepted, _) = listener.accept().unwrap();
                std::thread::scope(|scope| {
                    scope.spawn(move || client.write_all(&vec![7; BYTES]).unwrap());
                    let mut received = Vec::new();
                    accepted.read_to_end(&mut received).unwrap();
                    received
                })
            };
            let (received, longest) = carrying(&topology, transfer);
            assert!(received == vec![7; BYTES], "{} bytes came", received.len());
            assert!(longest > 15_000, "{backend}: no packet was longer than {longest} bytes");
        }
    }
}

#[test]
fn a_device_is_silent_until_a_program_sends() {
    if !can_run() {
        return;
    }
    let _alone = alone();
    for backend in BACKENDS {
        let topology = build(1, backend);
        for device in [&topology.outside().device, &topology.users[0].device] {
            let packet = next_packet(device, Duration::from_millis(300), |_| true);
            assert_eq!(packet, None, "{backend}");
        }
    }
}

#[test]
fn what_finds_the_queue_full_counts_as_dropped() {
    if !can_run() {
        return;
    }
    let _alone = alone();
    for backend in BACKENDS {
        let topology = build(1, backend);
        let client = socket_in(&topology.users[0].namespace, topology.users[0].address4);
        // The TUN queue has room for 10 000 packets, the socket's buffer for some 100 MB.
        for sent in 0..300_000 {
            // The kernel's backlog between veth's ends is shared by all namespaces; other tests need some of it.
            if sent % 64 == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
            let _ = client.send_to(&[0; 1000], (topology.outside().address4, 9));
            if topology.users[0].device.dropped() > 0 {
                break;
            }
        }
        let dropped = topology.users[0].device.dropped();
        assert!(dropped > 0, "{backend}");
        assert!(topology.users[0].device.dropped() >= dropped, "the count never falls");
        assert_eq!(topology.outside().device.dropped(), 0, "{backend}");
    }
}

#[test]
fn two_topologies_at_once_have_different_addresses() {
    if !can_run() {
        return;
    }
    let _alone = alone();
    let outside = Namespace::create().unwrap();
    let builders =
        || [Backend::Tun, Backend::Packet, Backend::Tun].map(|backend| build_in(&outside, 1, backend));
    let topologies = std::thread::scope(|scope| {
        let handles = [scope.spawn(builders), scope.spawn(builders)];
        handles.map(|handle| handle.join().unwrap())
    });
    let mut addresses: Vec<_> =
        topologies.iter().flatten().map(|topology| topology.outside().address4).collect();
    addresses.sort_unstable();
    let expected: Vec<_> = (0..6).map(|block| std::net::Ipv4Addr::new(100, 64, block, 1)).collect();
    assert_eq!(addresses, expected);
}

#[test]
fn the_outermost_side_reaches_the_innermost_without_nat() {
    if !can_run() {
        return;
    }
    let _alone = alone();
    let host = Namespace::create().unwrap();
    let first = build_in(&host, 1, Backend::Tun);
    let second = build_in(&first.users[0].namespace, 2, Backend::Packet);
    let third = build_in(&second.users[1].namespace, 1, Backend::Tun);
    assert_eq!(second.outside().address4, first.users[0].address4);
    let (innermost, user) = (&third.users[0].namespace, &third.users[0]);
    let check = || {
        let pairs: [(IpAddr, IpAddr); 2] = [
            (first.outside().address4.into(), user.address4.into()),
            (first.outside().address6.into(), user.address6.into()),
        ];
        for (outside, inside) in pairs {
            let (server, client) = (socket_in(&host, outside), socket_in(innermost, inside));
            exchange(&client, &server);
            exchange(&server, &client);
        }
    };
    carrying(&first, || carrying(&second, || carrying(&third, check)));
}

#[test]
fn nothing_is_left_in_the_machines_own_namespace() {
    if !can_run() {
        return;
    }
    let _alone = alone();
    let host = Namespace::current().unwrap();
    let ours = format!("cellcc pid={} ", std::process::id());
    for backend in BACKENDS {
        let topology = Topology::build(&spec(1, backend)).unwrap();
        assert!(output_in(&host, "ip link").contains(&ours));
        drop(topology);
        assert!(!output_in(&host, "ip link").contains(&ours), "{backend}");
    }
}

#[test]
fn what_a_killed_emulator_left_is_removed_by_the_next() {
    if let Ok(backend) = env::var(ROLE) {
        let _topology = Topology::build(&spec(1, backend.parse().unwrap())).unwrap();
        writeln!(std::io::stdout(), "built").unwrap();
        std::thread::sleep(Duration::from_secs(300));
        return;
    }
    if !can_run() {
        return;
    }
    let _alone = alone();
    for backend in BACKENDS {
        let outside = Namespace::create().unwrap();
        let mut emulator = Command::new(env::current_exe().unwrap());
        emulator.args([
            "--exact",
            "topology::what_a_killed_emulator_left_is_removed_by_the_next",
            "--nocapture",
        ]);
        emulator.env(ROLE, backend.to_string());
        outside.command(&mut emulator);
        let mut emulator = emulator.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(emulator.stdout.take().unwrap()).lines();
        said.find(|line| line.as_ref().unwrap().ends_with("built")).expect("it builds").unwrap();
        assert!(output_in(&outside, "ip link").contains("cellcc-0"));
        // The kernel removes the resources of a killed process, at the latest with its namespaces. This device stands for
        // one that survives even that, because its descriptor was passed on.
        output_in(&outside, "ip link add cellcc-7 type veth peer name other");
        let links = output_in(&outside, "ip link show cellcc-0");
        let alias = links.split("alias ").nth(1).unwrap().trim();
        let mut command = Command::new("ip");
        command.args(["link", "set", "cellcc-7", "alias", alias]);
        outside.command(&mut command);
        assert!(command.status().unwrap().success());
        let alive = build_in(&outside, 1, backend);
        assert!(output_in(&outside, "ip link").contains("cellcc-7"), "its owner is alive");
        drop(alive);

        emulator.kill().unwrap();
        emulator.wait().unwrap();
        let topology = build_in(&outside, 1, backend);
        let links = output_in(&outside, "ip -o link");
        assert_eq!(links.matches("cellcc-").count(), 1, "{links}");
        assert_eq!(topology.outside().address4.octets(), [100, 64, 0, 1]);
    }
}

//! An emulated link between a server's namespace and those of users, with TCP connections over it.

use cellcc_emu::emulation::{DEFAULT_GRANULARITY, Emulation, EmulationSpec};
use cellcc_emu::namespace::Namespace;
use cellcc_emu::stage::Stage;
use cellcc_emu::topology::{Servers, Topology, TopologySpec};
use cellcc_link::{Capacity, Delay, LinkConfig};
use cellcc_units::{QueueLimit, Rate, Span};
use rustix::net::sockopt::set_tcp_congestion;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;

/// Each way.
const DELAY: Span = Span::from_millis(10);

/// The namespaces and the link. They go with this value.
pub(crate) struct Cell {
    emulation: Emulation,
    /// The server's device, which leads to the users.
    pub(crate) interface: String,
}

impl Cell {
    /// This many users behind one downlink of this rate.
    pub(crate) fn start(users: usize, downlink_mbit: f64) -> Self {
        let spec = TopologySpec { users, servers: Servers::Apart, backend: None, mtu: 1500 };
        let topology = Topology::build(&spec).unwrap();
        let stage = |capacity| {
            let config = LinkConfig {
                capacity: Arc::new(capacity),
                queue: QueueLimit::Packets(200).into(),
                delay: Delay::constant(DELAY),
                ..LinkConfig::transparent()
            };
            vec![Stage::link(config, 1)]
        };
        let spec = EmulationSpec {
            up: stage(Capacity::unlimited()),
            down: stage(Capacity::constant(Rate::from_mbit_per_sec(downlink_mbit)).unwrap()),
            granularity: DEFAULT_GRANULARITY,
            receive_offload: true,
            taps: None,
            queue_counts: None,
        };
        let list = || Command::new("ip").args(["-o", "link"]).output().unwrap().stdout;
        let devices = String::from_utf8(topology.outside().namespace.run(list).unwrap()).unwrap();
        let mut words = devices.split([' ', ':', '@']);
        let interface = words.find(|word| word.starts_with("cellcc-")).unwrap().to_owned();
        Self { emulation: Emulation::start(topology, spec).unwrap(), interface }
    }

    /// The server's side.
    pub(crate) fn outside(&self) -> &Namespace {
        &self.emulation.topology().outside().namespace
    }

    pub(crate) fn server(&self) -> IpAddr {
        self.emulation.topology().outside().address4.into()
    }

    pub(crate) fn user(&self, user: usize) -> IpAddr {
        self.emulation.topology().users[user].address4.into()
    }

    /// A connection from a user, who reads all that comes: the server's end, with this congestion control.
    pub(crate) fn connect(&self, user: usize, scheme: &str) -> TcpStream {
        let listen = || TcpListener::bind((self.server(), 0)).unwrap();
        let listener = self.outside().run(listen).unwrap();
        let server = listener.local_addr().unwrap();
        let user = &self.emulation.topology().users[user].namespace;
        let mut client = user.run(|| TcpStream::connect(server)).unwrap().unwrap();
        std::thread::spawn(move || std::io::copy(&mut client, &mut std::io::sink()));
        let stream = listener.accept().unwrap().0;
        set_tcp_congestion(&stream, scheme).unwrap();
        stream
    }
}

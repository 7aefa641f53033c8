//! The processes next to the servers: a broker, two daemons, and the one that tells the kernel. They end with this value.

use super::USERS;
use super::sites::SITES;
use anyhow::{Context, Result, bail};
use cellcc_emu::namespace::Namespace;
use cellcc_netassist::base_station::{FIRST_RNTI, PCI, SLOTS_PER_SECOND};
use cellcc_netassist_client::{BrokerUrl, ClientSettings, Credentials, Role, ServiceAddress};
use cellcc_test_support::nats_server;
use libbpf_rs::MapHandle;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The guide's port for clients; the namespace is ours alone.
const BROKER: &str = "tls://localhost:4222";
/// Far longer than any of them takes to begin.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Connection tracking follows a namespace's flows once a rule asks for it.
const TRACK_FLOWS: &str =
    "table inet t {\nchain c {\ntype filter hook input priority 0\nct state new accept\n}\n}\n";
const KERNEL_SERVER: &str = "tcp-1";
const QUIC_SERVER: &str = "quic-1";

/// A process, with its name in the table of memory.
struct Running {
    name: String,
    process: Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The running processes, and the scheme in the kernel.
pub(crate) struct Edge {
    running: Vec<Running>,
    program: PathBuf,
    folder: PathBuf,
}

impl Edge {
    /// `server`: where the servers' flows come from. `stations`: where the base stations of the sites tell.
    pub(crate) fn start(
        program: &Path,
        folder: &Path,
        outside: &Namespace,
        server: IpAddr,
        users: &[IpAddr],
        stations: [SocketAddr; 2],
    ) -> Result<Self> {
        let mut edge =
            Self { running: Vec::new(), program: fs::canonicalize(program)?, folder: folder.into() };
        edge.certify()?;
        for (site, station) in SITES.iter().zip(stations) {
            fs::write(folder.join(format!("{}.toml", site.0)), configuration(*site, station, server, users))?;
        }
        let [north, south] = SITES.map(|(name, _)| format!("{name}.toml"));
        let permissions = edge.cellcc(&["permissions", &north, &south])?.stdout;
        fs::write(folder.join("permissions.conf"), permissions)?;
        outside.run(track_flows)??;
        edge.load_scheme()?;
        edge.start_broker(outside)?;
        for (name, _) in SITES {
            edge.start_own(outside, &format!("daemon {name}"), &["serve", &format!("{name}.toml")])?;
        }
        let credentials = format!("keys/server-{KERNEL_SERVER}");
        let join = ["join", BROKER, "--credentials", &credentials, "--pins", "bpf/cellcc"];
        edge.start_own(outside, "cellcc assist join", &join)?;
        Ok(edge)
    }

    /// How the QUIC server reaches the broker.
    pub(crate) fn quic_server(&self) -> Result<ClientSettings> {
        let url: BrokerUrl = BROKER.parse()?;
        let folder = self.folder.join(format!("keys/server-{QUIC_SERVER}"));
        let credentials = Credentials::load(&folder, Role::Server)?;
        Ok(ClientSettings { service: ServiceAddress::Nats(url), credentials })
    }

    /// The reports for the kernel's schemes.
    pub(crate) fn advice_map(&self) -> Result<MapHandle> {
        let map = self.folder.join("bpf/cellcc/advice_1");
        MapHandle::from_pinned_path(&map).with_context(|| map.display().to_string())
    }

    /// The processes with their names.
    pub(crate) fn processes(&self) -> Vec<(String, u32)> {
        self.running.iter().map(|running| (running.name.clone(), running.process.id())).collect()
    }

    fn certify(&self) -> Result<()> {
        let names: Vec<_> = SITES.iter().flat_map(|(name, _)| ["--service", name]).collect();
        let servers = ["--server", KERNEL_SERVER, "--server", QUIC_SERVER, "--broker", "localhost"];
        self.cellcc(&[&["certificates", "keys"], &names[..], &servers[..]].concat())?;
        Ok(())
    }

    /// NATCP in the kernel, pinned in a file system of its own.
    fn load_scheme(&self) -> Result<()> {
        let folder = self.folder.join("bpf");
        fs::create_dir(&folder)?;
        succeed(Command::new("mount").args(["-t", "bpf", "bpf"]).arg(&folder))?;
        let load = ["tcp", "load", "cellcc_natcp", "--pins", "bpf/cellcc"];
        succeed(Command::new(&self.program).args(load).current_dir(&self.folder))?;
        Ok(())
    }

    fn cellcc(&self, arguments: &[&str]) -> Result<Output> {
        succeed(Command::new(&self.program).arg("assist").args(arguments).current_dir(&self.folder))
    }

    /// nats-server with the guide's configuration.
    fn start_broker(&mut self, outside: &Namespace) -> Result<()> {
        let text = nats_server::example("# nats.conf").replace("nats.example", "localhost");
        fs::write(self.folder.join("nats.conf"), text)?;
        let program = nats_server::program().context("no nats-server: apt-get install nats-server")?;
        let mut command = Command::new(program);
        command.args(["--config", "nats.conf", "--addr", "127.0.0.1"]);
        self.spawn(outside, "nats-server", command)?;
        self.wait_for("nats-server", "Server is ready")
    }

    /// A subcommand of `cellcc assist`.
    fn start_own(&mut self, outside: &Namespace, name: &str, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.arg("assist").args(arguments);
        self.spawn(outside, name, command)?;
        let begins = if arguments[0] == "serve" { "listening on" } else { "connected" };
        self.wait_for(name, begins)
    }

    fn spawn(&mut self, outside: &Namespace, name: &str, mut command: Command) -> Result<()> {
        let log = File::create(self.log(name))?;
        command.current_dir(&self.folder).stdout(log.try_clone()?).stderr(log);
        outside.command(&mut command);
        self.running.push(Running { name: name.into(), process: command.spawn()? });
        Ok(())
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.log", name.replace(' ', "-")))
    }

    /// Waits until the log of a process has this in it.
    fn wait_for(&mut self, name: &str, part: &str) -> Result<()> {
        let began = Instant::now();
        loop {
            let mut log = String::new();
            File::open(self.log(name))?.read_to_string(&mut log)?;
            if log.contains(part) {
                return Ok(());
            }
            let ended = self
                .running
                .iter_mut()
                .any(|running| running.process.try_wait().is_ok_and(|status| status.is_some()));
            if ended || began.elapsed() > START_TIMEOUT {
                bail!("{name} does not say `{part}`: {log}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.running.clear();
        let unload = ["tcp", "unload", "cellcc_natcp", "--pins", "bpf/cellcc"];
        let _ = Command::new(&self.program).args(unload).current_dir(&self.folder).output();
        let _ = Command::new("umount").arg(self.folder.join("bpf")).status();
    }
}

/// A site's daemon as the guide has it: its base station, the users with both, the broker.
fn configuration(
    (name, network_rtt): (&str, cellcc_units::Span),
    station: SocketAddr,
    server: IpAddr,
    users: &[IpAddr],
) -> String {
    let known = |name| format!("{{ name = \"{name}\", address = \"{server}\", users = {USERS:?} }}");
    let mut text = format!(
        "listen = \"127.0.0.1:0\"\ncredentials = \"keys/service-{name}\"\naudit_log = \"{name}.jsonl\"\n\
         live_flows = \"conntrack\"\n\n[nats]\nurl = \"{BROKER}\"\nsite = \"{name}\"\nuser_keys = \"keys/user-keys\"\n\
         servers = [{}, {}]\n\n[[source]]\nkind = \"gnb-websocket\"\naddress = \"{station}\"\nnetwork_rtt = \"{network_rtt}\"\n\
         downlink_slots_per_second = {SLOTS_PER_SECOND}\n",
        known(KERNEL_SERVER),
        known(QUIC_SERVER),
    );
    for (index, (user, address)) in USERS.iter().zip(users).enumerate() {
        let rnti = usize::from(FIRST_RNTI) + index;
        text += &format!(
            "\n[[user]]\nname = \"{user}\"\naddresses = [\"{address}\"]\nradio = [{{ pci = {PCI}, rnti = {rnti} }}]\n"
        );
    }
    text
}

fn track_flows() -> Result<()> {
    let mut nft = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .context("nft: apt-get install nftables")?;
    nft.stdin.take().context("its input")?.write_all(TRACK_FLOWS.as_bytes())?;
    if !nft.wait()?.success() {
        bail!("nft takes no rule for connection tracking");
    }
    Ok(())
}

fn succeed(command: &mut Command) -> Result<Output> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output)
}

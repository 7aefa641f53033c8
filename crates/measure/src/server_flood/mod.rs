//! Floods a `cellcc serve` with connections, and measures its memory: `cellcc-measure server-flood`.
//!
//! The first argument is the program to measure. The exit status is 1 if a bound is broken.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a measurement has a clock and prints")]

mod flood;

use crate::{Arguments, Outcome, usage};
use cellcc_experiment::Source;
use cellcc_quic::receive_thread::endpoint;
use cellcc_test_support::memory_kib;
use cellcc_transfer::{ClientSettings, Direction, Payload, Request, Trust, VERSION};
use cellcc_units::{Bytes, Span};
use flood::{Silent, client_config};
use noq::{Endpoint, VarInt};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};

type Flood = fn(&Server) -> Outcome<()>;

/// The bound of a server's memory, whatever clients do.
const MAX_PEAK_MB: f64 = 64.0;
/// The memory that it may keep.
const MAX_KEPT_MB: f64 = 10.0;
/// So long after a flood.
const PAUSE: Duration = Duration::from_secs(60);

/// Connections that fall silent after their first packet.
const INITIALS: u32 = 100_000;
/// The rate per second, or as many as one CPU can make.
const INITIALS_PER_S: f64 = 5000.0;
/// Connections that fall silent after they have proved their address.
const PROVEN: u32 = 20_000;
/// Connections that are closed when their handshake is complete.
const CONNECTIONS: usize = 20_000;
const AT_ONCE: usize = 50;
/// Transfers, of two connections each.
const TRANSFERS: usize = 10_000;

pub(crate) fn run(arguments: Arguments) -> Outcome<ExitCode> {
    let [program] = arguments else { return usage("server-flood") };
    Ok(if floods(Path::new(program))? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Each flood has a server of its own, so that the peak is its own. True if all stayed within the bounds.
fn floods(program: &Path) -> Outcome<bool> {
    let floods: [(String, Flood); 5] = [
        (format!("{INITIALS} Initials without a further packet"), initials),
        (format!("{PROVEN} Initials that answer a Retry, and no more"), proven),
        (format!("{CONNECTIONS} short connections, one after another"), |server| connections(server, 1)),
        (format!("{CONNECTIONS} short connections, {AT_ONCE} at once"), |server| {
            connections(server, AT_ONCE)
        }),
        (format!("{TRANSFERS} transfers of 10 kB, {AT_ONCE} at once"), transfers),
    ];
    let mut flooded = Vec::new();
    for (name, flood) in floods {
        let server = Server::start(program)?;
        let start_mb = server.memory_mb("VmRSS")?;
        let began = Instant::now();
        flood(&server).map_err(|error| format!("{name}: {error}"))?;
        println!("{name}: {:.0} s", began.elapsed().as_secs_f64());
        flooded.push((name, server, start_mb, Instant::now()));
    }
    println!("\n{:<48} {:>8} {:>8} {:>15}", "memory, MB", "start", "peak", "a minute later");
    let mut is_held = true;
    for (name, server, start_mb, ended) in flooded {
        std::thread::sleep(PAUSE.saturating_sub(ended.elapsed()));
        let (peak_mb, after_mb) = (server.memory_mb("VmHWM")?, server.memory_mb("VmRSS")?);
        println!("{name:<48} {start_mb:>8.1} {peak_mb:>8.1} {after_mb:>15.1}\n  {}", server.end()?);
        if peak_mb >= MAX_PEAK_MB || after_mb >= start_mb + MAX_KEPT_MB {
            println!(
                "  BROKEN: at most {MAX_PEAK_MB} MB, and {MAX_KEPT_MB} MB above the start a minute later"
            );
            is_held = false;
        }
    }
    Ok(is_held)
}

fn initials(server: &Server) -> Outcome<()> {
    let silent = Silent::new(server.address, Ipv4Addr::LOCALHOST)?;
    let began = Instant::now();
    for sent in 0..INITIALS {
        silent.send_initial()?;
        let due = Duration::from_secs_f64(f64::from(sent) / INITIALS_PER_S);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
    }
    Ok(())
}

fn proven(server: &Server) -> Outcome<()> {
    for _ in 0..PROVEN {
        // A socket each, because late answers to the last one also come.
        Silent::new(server.address, Ipv4Addr::LOCALHOST)?.send_initial_and_answer_retry()?;
    }
    Ok(())
}

fn connections(server: &Server, at_once: usize) -> Outcome<()> {
    let certificate = server.certificate();
    Runtime::new()?.block_on(async {
        // The buffer of an ordinary endpoint holds 92 packets, fewer than fifty handshakes have.
        let client = endpoint((Ipv4Addr::LOCALHOST, 0).into(), None)?;
        client.set_default_client_config(client_config(Some(&certificate))?);
        let mut open = JoinSet::new();
        for _ in 0..CONNECTIONS {
            if open.len() == at_once {
                open.join_next().await.ok_or("no task")???;
            }
            let (client, address) = (client.clone(), server.address);
            open.spawn(async move { connect_and_close(&client, address).await });
        }
        while let Some(done) = open.join_next().await {
            done??;
        }
        client.wait_idle().await;
        Ok(())
    })
}

async fn connect_and_close(client: &Endpoint, server: SocketAddr) -> Result<(), String> {
    let connecting = client.connect(server, "localhost").map_err(|error| error.to_string())?;
    let connection = connecting.await.map_err(|error| error.to_string())?;
    connection.close(VarInt::from_u32(0), b"complete");
    Ok(())
}

fn transfers(server: &Server) -> Outcome<()> {
    LocalSet::new().block_on(&Runtime::new()?, async {
        let mut open = JoinSet::new();
        for _ in 0..TRANSFERS {
            if open.len() == AT_ONCE {
                open.join_next().await.ok_or("no task")???;
            }
            let settings = server.transfer()?;
            open.spawn_local(async move {
                let (_stop, stopped) = watch::channel(false);
                cellcc_transfer::transfer(&settings, stopped, &mut |_| {}).await.map(drop)
            });
        }
        while let Some(done) = open.join_next().await {
            done??;
        }
        Ok(())
    })
}

/// A `cellcc serve` on a free port.
struct Server {
    process: Child,
    address: SocketAddr,
    pin: String,
    folder: TempDir,
}

impl Server {
    fn start(program: &Path) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let mut process = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("XDG_STATE_HOME", folder.path())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(folder.path().join("log"))?)
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().ok_or("no output")?).lines();
        let mut word_after = |before: &str| -> Outcome<String> {
            let line = lines.next().ok_or("the server has ended")??;
            Ok(line.strip_prefix(before).ok_or("not a server's output")?.to_owned())
        };
        let address = word_after("listening on ")?.parse()?;
        let pin = word_after("certificate ")?;
        // A server whose output is not read ends.
        word_after("try: ")?;
        Ok(Self { process, address, pin, folder })
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("cellcc/server.pem")
    }

    /// A line of proc_pid_status(5), in MB.
    fn memory_mb(&self, name: &str) -> Outcome<f64> {
        Ok(memory_kib(self.process.id(), name)? as f64 * 1024.0 / 1e6)
    }

    fn transfer(&self) -> Outcome<ClientSettings> {
        Ok(ClientSettings {
            server: self.address,
            server_name: "localhost".into(),
            trust: Trust::Pin(self.pin.parse()?),
            identity: None,
            request: Request {
                version: VERSION,
                direction: Direction::Get,
                payload: Payload::Made { source: Source::Sized(Bytes::new(10_000)), time: None },
                scheme: None,
                connections: 1,
                streams: 1,
                interval: Span::from_secs(1),
            },
            file: None,
            qlog: None,
            advice: None,
        })
    }

    /// Ends it, and returns the last line of its log.
    fn end(mut self) -> Outcome<String> {
        Command::new("kill").args(["-INT", &self.process.id().to_string()]).status()?;
        self.process.wait()?;
        let log = std::fs::read_to_string(self.folder.path().join("log"))?;
        Ok(log.lines().last().unwrap_or_default().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

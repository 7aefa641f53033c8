//! Throughput and punctuality of the emulator on this machine. Needs root (or unprivileged user namespaces), iperf3 and ping.
//!
//! Each figure is the median of `--runs` runs (5), next to how late a bare timer wakes up in the same run.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads the clock and prints")]

use crate::{Arguments, Outcome};
use cellcc_emu::device::Backend;
use cellcc_emu::emulation::{Clock, DEFAULT_GRANULARITY, Emulation, EmulationSpec, SelfReport};
use cellcc_emu::log::{LogHeader, LogSpec};
use cellcc_emu::namespace::Namespace;
use cellcc_emu::stage::Stage;
use cellcc_emu::topology::{Servers, Topology, TopologySpec};
use cellcc_link::{Capacity, Delay, Jitter, LinkConfig, ShareOverTime};
use cellcc_units::{QueueLimit, Rate, Ratio, Span, Time};
use clap::Parser;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Measures the emulator on this machine.
#[derive(Parser)]
struct Args {
    /// What to measure: throughput, ping, release; all of it where nothing is named.
    what: Vec<String>,
    /// Each figure is the median of so many runs.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// How long iperf3 measures in each run, after two seconds that do not count.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// tun or veth; both where it is not given.
    #[arg(long)]
    backend: Option<Backend>,
    /// Only these rates of the throughput table, in Gbit/s.
    #[arg(long)]
    rates: Vec<f64>,
}

pub(crate) fn run(arguments: Arguments) -> Outcome<ExitCode> {
    let args = Args::parse_from(std::iter::once(&"emulator").chain(arguments));
    let wants = |what: &str| args.what.is_empty() || args.what.iter().any(|asked| asked == what);
    let backends = args.backend.map_or(vec![Backend::Tun, Backend::Packet], |backend| vec![backend]);
    let baseline = std::thread::spawn(timer_lateness).join().map_err(|_| "the timer's thread panicked")?;
    println!("bare timer, 1 ms sleeps: {}", quantiles(&baseline));
    for backend in backends {
        println!("\n{backend}");
        if wants("throughput") {
            throughput(backend, &args)?;
        }
        if wants("ping") {
            ping(backend, &args)?;
        }
        if wants("release") {
            release(backend, &args)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Goodput of one CUBIC flow as a share of the ideal: 1448 of each 1500 bytes.
fn throughput(backend: Backend, args: &Args) -> Outcome<()> {
    println!(
        "iperf3, one CUBIC flow up, share of the ideal goodput (1448/1500 of the rate), median of {}:",
        args.runs
    );
    println!(
        "  Gbit/s  delay each way  log  share  worst  device drops  late p99 us up/down  CPU up/down  retransmitted"
    );
    let rates: Vec<f64> =
        if args.rates.is_empty() { vec![0.1, 1.0, 2.0, 5.0, 10.0] } else { args.rates.clone() };
    for &gbit in &rates {
        let variants: &[(u64, bool)] =
            if gbit <= 2.0 { &[(0, false), (10, false), (0, true)] } else { &[(0, false), (10, false)] };
        for &(delay_ms, log) in variants {
            let mut runs = Vec::new();
            for _ in 0..args.runs {
                runs.push(iperf(backend, gbit, delay_ms, log, args.seconds)?);
            }
            runs.sort_by(|a, b| a.share.total_cmp(&b.share));
            let (median, worst) = (&runs[runs.len() / 2], &runs[0]);
            let drops: u64 =
                runs.iter().map(|run| run.report.up.device_drops + run.report.down.device_drops).sum();
            println!(
                "  {gbit:6}  {delay_ms:11} ms  {:>3}  {:5.3}  {:5.3}  {drops:12}  {:9.0}/{:9.0}  {:4.2}/{:4.2}  {:8}",
                if log { "yes" } else { "no" },
                median.share,
                worst.share,
                median.report.up.late_p99_us,
                median.report.down.late_p99_us,
                median.report.up.cpu_share,
                median.report.down.cpu_share,
                median.retransmitted,
            );
        }
    }
    Ok(())
}

struct Iperf {
    share: f64,
    retransmitted: u64,
    report: SelfReport,
}

fn iperf(backend: Backend, gbit: f64, delay_ms: u64, log: bool, seconds: u64) -> Outcome<Iperf> {
    let rate = Rate::from_mbit_per_sec(gbit * 1e3);
    let bdp = (gbit * 1e9 / 8.0 * 0.020 / 1500.0).ceil() as u64;
    let queue = if gbit > 2.0 { bdp } else { 3200 };
    let directory = tempfile::tempdir()?;
    let log = log.then(|| directory.path().join("up.log"));
    let up = vec![link(rate, QueueLimit::Packets(queue), log)?, delay(delay_ms)?];
    let down = vec![delay(delay_ms)?, link(rate, QueueLimit::Packets(queue), None)?];
    let emulation = start(backend, up, down)?;
    let topology = emulation.topology();
    let address = topology.outside().address4.to_string();
    let server = command(&topology.outside().namespace, "iperf3", &["-s", "-1", "-J"])
        .stdout(Stdio::piped())
        .spawn()?;
    std::thread::sleep(Duration::from_millis(300));
    let time = seconds.to_string();
    let output = command(
        &topology.users[0].namespace,
        "iperf3",
        &["-c", &address, "-t", &time, "-O", "2", "-C", "cubic", "-J"],
    )
    .output()?;
    let server: serde_json::Value = serde_json::from_slice(&server.wait_with_output()?.stdout)?;
    let report = emulation.stop()?;
    let result: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let bits = received(&server).ok_or_else(|| format!("iperf3's server gave no result: {server}"))?;
    Ok(Iperf {
        share: bits / (gbit * 1e9 * 1448.0 / 1500.0),
        retransmitted: result["end"]["sum_sent"]["retransmits"].as_u64().unwrap_or(0),
        report,
    })
}

/// The server's rate per second, over the whole seconds that count. (iperf3's own mean also covers the time in which
/// the queue drains at the end, while nothing is counted any more.)
fn received(server: &serde_json::Value) -> Option<f64> {
    let intervals = server["intervals"].as_array()?;
    let seconds = intervals.iter().map(|interval| &interval["sum"]).filter(|sum| {
        sum["omitted"].as_bool() == Some(false)
            && sum["seconds"].as_f64().is_some_and(|seconds| seconds > 0.9)
    });
    let rates: Vec<f64> = seconds.filter_map(|sum| sum["bits_per_second"].as_f64()).collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// Round trips of an idle path against their nominal values.
fn ping(backend: Backend, args: &Args) -> Outcome<()> {
    println!(
        "ping every 10 ms through an idle path, error against the nominal round trip, median of {}:",
        args.runs
    );
    let unlimited = Capacity::MAX_RATE;
    for (name, rate, delay_ms, nominal_us) in [
        ("--rtt 40ms", unlimited, 20, 40_000.0),
        ("12 Mbit/s both ways", Rate::from_mbit_per_sec(12.0), 0, 2.0 * 84.0 / 1.5),
    ] {
        let mut runs = Vec::new();
        for _ in 0..args.runs {
            let stages =
                || -> Outcome<_> { Ok(vec![link(rate, QueueLimit::Unlimited, None)?, delay(delay_ms)?]) };
            let emulation = start(backend, stages()?, stages()?)?;
            let topology = emulation.topology();
            let address = topology.outside().address4.to_string();
            let output =
                command(&topology.users[0].namespace, "ping", &["-i", "0.01", "-c", "300", &address])
                    .output()?;
            emulation.stop()?;
            let text = String::from_utf8(output.stdout)?;
            let times = text
                .lines()
                .filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse::<f64>().ok());
            let errors: Vec<f64> = times.map(|ms| ms * 1e3 - nominal_us).collect();
            if errors.len() < 290 {
                return Err(format!("ping got {} of 300 answers:\n{text}", errors.len()).into());
            }
            runs.push(errors);
        }
        let median = median_run(runs);
        println!(
            "  {name:<20} {}  earliest {:.0} us",
            quantiles(&median),
            median.iter().copied().fold(f64::MAX, f64::min)
        );
    }
    Ok(())
}

/// Departures of a queue that never empties against the line of an exact link.
fn release(backend: Backend, args: &Args) -> Outcome<()> {
    println!(
        "UDP of 1500-byte packets through a full queue, arrival after the line of an exact link, median of {}:",
        args.runs
    );
    for mbit in [12.0, 100.0, 1000.0] {
        let mut runs = Vec::new();
        for _ in 0..args.runs {
            runs.push(deviations(backend, mbit)?);
        }
        let median = median_run(runs);
        println!("  {mbit:6} Mbit/s  {}  ({} packets)", quantiles(&median), median.len());
    }
    Ok(())
}

fn deviations(backend: Backend, mbit: f64) -> Outcome<Vec<f64>> {
    const SECONDS: u64 = 5;
    let rate = Rate::from_mbit_per_sec(mbit);
    let emulation = start(backend, vec![link(rate, QueueLimit::Packets(3200), None)?], vec![delay(0)?])?;
    let topology = emulation.topology();
    let address = SocketAddr::from((topology.outside().address4, 5001));
    let receiver = topology.outside().namespace.run(|| UdpSocket::bind(address))??;
    receiver.set_read_timeout(Some(Duration::from_millis(500)))?;
    socket2::SockRef::from(&receiver).set_recv_buffer_size(8 << 20)?;
    let sender = topology.users[0].namespace.run(|| UdpSocket::bind("0.0.0.0:0"))??;
    sender.connect(address)?;
    let stop = Arc::new(AtomicBool::new(false));
    let flooding = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || flood(&sender, mbit * 1.2, &stop)
    });
    let receiving = std::thread::spawn(move || arrivals(&receiver, Span::from_secs(SECONDS)));
    let arrivals = receiving.join().map_err(|_| "the receiving thread panicked")?;
    stop.store(true, Ordering::Relaxed);
    flooding.join().map_err(|_| "the flooding thread panicked")?;
    emulation.stop()?;
    // Half a second fills the queue.
    let spacing = 1500.0 * 8.0 / mbit;
    let skipped = arrivals.iter().position(|&at| at > 5e5).unwrap_or(0);
    let after: Vec<f64> =
        arrivals[skipped..].iter().enumerate().map(|(place, at)| at - place as f64 * spacing).collect();
    let earliest = after.iter().copied().fold(f64::MAX, f64::min);
    Ok(after.into_iter().map(|at| at - earliest).collect())
}

/// When packets arrive, in us; by a thread as punctual as the emulator's, which it measures.
fn arrivals(receiver: &UdpSocket, length: Span) -> Vec<f64> {
    cellcc_emu::emulation::be_punctual();
    let clock = Clock::start();
    let mut arrivals = Vec::new();
    let mut buffer = [0; 2048];
    while clock.now() < Time::ZERO + length {
        if receiver.recv(&mut buffer).is_ok() {
            arrivals.push(clock.now().as_nanos() as f64 / 1e3);
        }
    }
    arrivals
}

/// Sends packets of 1500 bytes at `mbit`, in bursts of half a millisecond.
fn flood(sender: &UdpSocket, mbit: f64, stop: &AtomicBool) {
    let payload = [0; 1472];
    let began = Instant::now();
    let mut sent = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        let due = (began.elapsed().as_secs_f64() * mbit * 1e6 / 8.0 / 1500.0) as u64 + 10;
        while sent < due {
            // A full buffer is the flood's purpose.
            let _ = sender.send(&payload);
            sent += 1;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// How late a thread that does nothing else, as punctual as the emulator's, wakes up, in us.
fn timer_lateness() -> Vec<f64> {
    cellcc_emu::emulation::be_punctual();
    let began = Instant::now();
    let late = (1..=2000).map(|tick| {
        let due = Duration::from_millis(tick);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        (began.elapsed().saturating_sub(due)).as_secs_f64() * 1e6
    });
    late.collect()
}

fn start(backend: Backend, up: Vec<Stage>, down: Vec<Stage>) -> Outcome<Emulation> {
    let topology = Topology::build(&TopologySpec {
        users: 1,
        servers: Servers::Apart,
        backend: Some(backend),
        mtu: 1500,
    })?;
    let spec = EmulationSpec {
        up,
        down,
        granularity: DEFAULT_GRANULARITY,
        receive_offload: true,
        taps: None,
        queue_counts: None,
    };
    Ok(Emulation::start(topology, spec)?)
}

fn command(namespace: &Namespace, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    namespace.command(&mut command);
    command
}

fn delay(ms: u64) -> Outcome<Stage> {
    stage(Capacity::MAX_RATE, QueueLimit::Unlimited, ms, None)
}

fn link(rate: Rate, queue: QueueLimit, log: Option<std::path::PathBuf>) -> Outcome<Stage> {
    stage(rate, queue, 0, log)
}

fn stage(rate: Rate, queue: QueueLimit, delay_ms: u64, log: Option<std::path::PathBuf>) -> Outcome<Stage> {
    let config = LinkConfig {
        capacity: Arc::new(Capacity::constant(rate)?),
        queue: queue.into(),
        delay: Delay::constant(Span::from_millis(delay_ms)),
        jitter: Jitter::NONE,
        loss: ShareOverTime::constant(Ratio::ZERO),
        ..LinkConfig::transparent()
    };
    let log = log.map(|path| LogSpec { path, header: LogHeader::default() });
    Ok(Stage { log, ..Stage::link(config, 1) })
}

/// The run whose 99th percentile is the median of all runs'.
fn median_run(mut runs: Vec<Vec<f64>>) -> Vec<f64> {
    runs.sort_by(|a, b| quantile(a, 0.99).total_cmp(&quantile(b, 0.99)));
    runs.swap_remove(runs.len() / 2)
}

fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

fn quantiles(us: &[f64]) -> String {
    let [half, most, all] = [0.5, 0.99, 1.0].map(|share| quantile(us, share));
    format!("p50 {half:6.0} us  p99 {most:6.0} us  max {all:6.0} us")
}

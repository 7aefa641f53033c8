//! One run in real time: topology, emulation, both ends of every flow, and what the meter made of it.

use super::conversation::Conversation;
use super::ends::{Ends, Sent, let_buffers_grow, sleep_until};
use super::tcp_info::TcpInfo;
use super::watch::Watch;
use crate::emulation::{Clock, Emulation, EmulationSpec, SelfReport};
use crate::error::EmuError;
use crate::kernel::stages::Stages;
use crate::topology::{Topology, TopologySpec};
use cellcc_experiment::{Application, FlowMeter, Scenario};
use cellcc_units::{Span, Time};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};

/// The MTU of Ethernet: 1448 bytes of data beside 52 of headers with timestamps.
pub(crate) const MTU: u16 = 1500;

/// Packets of the last moment may be on their way this long beyond the path's own delay.
const LATECOMERS: Span = Span::from_millis(50);

/// What came out of a run.
pub(crate) struct Outcome {
    pub(crate) conversations: Vec<Conversation>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) report: SelfReport,
}

/// Runs the flows of a Scenario, each with the kernel's congestion control of that name. `granularity` is that of the
/// emulation; `delay` is the longest of the way to the receivers at the end.
pub(crate) fn run(
    scenario: &Scenario,
    kernel_names: &[&str],
    stages: Stages,
    granularity: Span,
    delay: Span,
) -> Result<Outcome, EmuError> {
    let users = 1 + scenario.cell.as_ref().map_or(0, |cell| cell.users.len());
    let topology = Topology::build(&TopologySpec { users, isolated: true, backend: None, mtu: MTU })?;
    let namespaces = topology.users.iter().map(|user| &user.namespace).chain([&topology.outside.namespace]);
    for namespace in namespaces {
        namespace.run(let_buffers_grow)??;
    }
    let flows = scenario.flows.iter().zip(kernel_names).enumerate();
    let ends = flows.map(|(index, (setup, name))| Ends::open(&topology, index, setup, name));
    let ends = ends.collect::<Result<Vec<_>, EmuError>>()?;

    let conversations = scenario.flows.iter().map(|setup| Conversation::new(scenario, setup)).collect();
    let watch = Watch::start(conversations)?;
    let spec = EmulationSpec { up: stages.up, down: stages.down, granularity, taps: Some(watch.taps()) };
    let emulation = Emulation::start(topology, spec)?;
    let ran = carry(scenario, &ends, emulation.clock(), delay);
    // The taps go with the emulation: only then has the meter seen everything.
    let report = emulation.stop();
    let mut conversations = watch.finish();
    let (sent, samples) = ran?;
    for (conversation, samples) in conversations.iter_mut().zip(samples) {
        samples.iter().for_each(|(bin, info)| take_down(conversation.meter_mut(), *bin, info));
    }
    Ok(Outcome { conversations, sent, report: report? })
}

/// What the kernel told of a flow at the ends of bins.
type Samples = Vec<(usize, TcpInfo)>;

/// Lets every flow send and receive until the run is over.
fn carry(
    scenario: &Scenario,
    ends: &[Ends],
    clock: Clock,
    delay: Span,
) -> Result<(Vec<Sent>, Vec<Samples>), EmuError> {
    let done = AtomicBool::new(false);
    let end = Time::ZERO + scenario.duration;
    std::thread::scope(|scope| {
        let pairs = ends.iter().zip(&scenario.flows).map(|(ends, setup)| {
            let application = Application::new(setup, &scenario.endpoint, end);
            let receiver = start(scope, "cellcc-receiver", || ends.receive(&done))?;
            let sender = start(scope, "cellcc-sender", move || ends.send(application, clock))?;
            Ok((receiver, sender))
        });
        let pairs = pairs.collect::<Result<Vec<_>, EmuError>>();
        let samples = if pairs.is_ok() { sample(scenario, ends, clock) } else { Vec::new() };
        sleep_until(clock, end + delay + LATECOMERS);
        done.store(true, Ordering::Relaxed);
        let sent = pairs?.into_iter().map(|(receiver, sender)| {
            join(receiver).map_err(EmuError::system("receive"))?;
            join(sender).map_err(EmuError::system("send"))
        });
        Ok((sent.collect::<Result<_, EmuError>>()?, samples))
    })
}

fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, EmuError> {
    let thread = std::thread::Builder::new().name(name.into()).spawn_scoped(scope, work);
    thread.map_err(EmuError::system("start a thread"))
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Asks the kernel at the end of every bin of the time series, for each flow that is sending.
fn sample(scenario: &Scenario, ends: &[Ends], clock: Clock) -> Vec<Samples> {
    let mut samples = vec![Samples::new(); ends.len()];
    let end = Time::ZERO + scenario.duration;
    for bin in 0..scenario.series_bins() {
        let bin_ends_at = Time::ZERO + scenario.endpoint.series_bin * (bin as u64 + 1);
        sleep_until(clock, bin_ends_at);
        for ((ends, setup), samples) in ends.iter().zip(&scenario.flows).zip(&mut samples) {
            let is_sending = setup.start < bin_ends_at && bin_ends_at <= setup.stop.unwrap_or(end);
            if let Some(info) = ends.info().filter(|_| is_sending) {
                samples.push((bin, info));
            }
        }
    }
    samples
}

/// The names are the simulator's where it has the quantity.
fn take_down(meter: &mut FlowMeter, bin: usize, info: &TcpInfo) {
    meter.sample(bin, "window_packets", info.window_packets.into());
    if let Some(rate) = info.pacing_rate {
        meter.sample(bin, "pacing_rate_mbit_s", rate.as_mbit_per_sec());
    }
    meter.sample(bin, "srtt_ms", info.srtt.as_millis_f64());
    meter.sample(bin, "retransmitted_bytes", info.retransmitted.as_f64());
}

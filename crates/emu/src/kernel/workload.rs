//! The flows of a run as the kernel's TCP connections.

use super::conversation::Conversation;
use super::endpoints::{Endpoints, Sent, let_buffers_grow};
use super::first_windows::FirstWindows;
use super::tcp_info::TcpInfo;
use crate::emulation::Clock;
use crate::error::EmuError;
use crate::realtime::{Running, Workload, join, sleep_until, start};
use crate::topology::Topology;
use cellcc_experiment::{Application, RunError, Scenario, TcpBackend, TcpRun};
use cellcc_units::Time;
use std::sync::atomic::{AtomicBool, Ordering};

/// The flows of a Scenario, each with the kernel's congestion control of that name.
pub(crate) struct Connections<'a, B> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) kernel_names: Vec<&'a str>,
    pub(crate) first_windows: FirstWindows,
    pub(crate) backend: &'a B,
}

/// The measurements of the senders and the kernel.
pub(crate) struct Outcome {
    pub(crate) sent: Vec<Sent>,
    /// The kernel's statistics of each flow.
    pub(crate) samples: Vec<Samples>,
    /// The success of passing the network's reports to the kernel.
    pub(crate) assistance: Result<(), RunError>,
}

/// The kernel's statistics of a flow at the ends of bins.
type Samples = Vec<(usize, TcpInfo)>;

impl<B: TcpBackend> Workload for Connections<'_, B> {
    type Flow = Conversation;
    type Endpoints = Vec<Endpoints>;
    type Outcome = Outcome;

    fn flows(&self) -> Vec<Conversation> {
        self.scenario.flows.iter().map(|setup| Conversation::new(self.scenario, setup)).collect()
    }

    fn open(&self, topology: &Topology) -> Result<Vec<Endpoints>, EmuError> {
        let users = topology.users.iter().map(|user| &user.namespace);
        for namespace in users.chain([&topology.outside().namespace]) {
            namespace.run(let_buffers_grow)??;
        }
        for (user, packets) in &self.first_windows {
            topology.outside().set_first_window(&topology.users[*user], *packets)?;
        }
        let flows = self.scenario.flows.iter().zip(&self.kernel_names).enumerate();
        flows.map(|(index, (setup, name))| Endpoints::open(topology, index, setup, name)).collect()
    }

    fn run(&self, endpoints: Vec<Endpoints>, running: Running) -> Result<Outcome, EmuError> {
        let Running { clock, queues, until } = running;
        let done = AtomicBool::new(false);
        let end = Time::ZERO + self.scenario.duration;
        let peers: Vec<_> = endpoints.iter().map(Endpoints::peer).collect();
        let (scenario, epoch) = (self.scenario, clock.zero());
        let assisted = TcpRun { scenario, peers: &peers, queues: &queues, epoch, until: end };
        std::thread::scope(|scope| {
            let assistance = start(scope, "cellcc-assistance", || self.backend.assist(assisted))?;
            let pairs = endpoints.iter().zip(&self.scenario.flows).map(|(endpoints, setup)| {
                let application = Application::new(setup, &self.scenario.endpoint, end);
                let receiver = start(scope, "cellcc-receiver", || endpoints.receive(&done))?;
                let sender = start(scope, "cellcc-sender", move || endpoints.send(application, clock))?;
                Ok((receiver, sender))
            });
            let pairs = pairs.collect::<Result<Vec<_>, EmuError>>();
            let samples = if pairs.is_ok() { sample(self.scenario, &endpoints, clock) } else { Vec::new() };
            sleep_until(clock, until);
            done.store(true, Ordering::Relaxed);
            let assistance = join(assistance);
            let sent = pairs?.into_iter().map(|(receiver, sender)| {
                join(receiver).map_err(EmuError::system("receive"))?;
                join(sender).map_err(EmuError::system("send"))
            });
            Ok(Outcome { sent: sent.collect::<Result<_, EmuError>>()?, samples, assistance })
        })
    }
}

/// Reads the kernel's statistics at the end of every bin of the time series, for each flow that is sending.
fn sample(scenario: &Scenario, endpoints: &[Endpoints], clock: Clock) -> Vec<Samples> {
    let mut samples = vec![Samples::new(); endpoints.len()];
    let end = Time::ZERO + scenario.duration;
    for bin in 0..scenario.series_bins() {
        let bin_ends_at = Time::ZERO + scenario.endpoint.series_bin * (bin as u64 + 1);
        sleep_until(clock, bin_ends_at);
        for ((endpoints, setup), samples) in endpoints.iter().zip(&scenario.flows).zip(&mut samples) {
            let is_sending = setup.start < bin_ends_at && bin_ends_at <= setup.stop.unwrap_or(end);
            if let Some(info) = endpoints.info().filter(|_| is_sending) {
                samples.push((bin, info));
            }
        }
    }
    samples
}

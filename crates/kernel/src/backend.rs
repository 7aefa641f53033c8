//! The schemes for runs through the emulator (`cellcc compare --driver kernel`): in the kernel while this process lives.

use crate::error::KernelError;
use crate::holding::Held;
use crate::machine::Machine;
use crate::pins::advising::advice_now;
use crate::schemes::Scheme;
use crate::schemes::Written;
use cellcc_assist::{Reports, Timetable};
use cellcc_control::Advice;
use cellcc_experiment::{
    ResolveError, RunError, Scenario, Support, TcpBackend, TcpRun, TracedPath, UserReports,
};
use cellcc_link::TraceCache;
use cellcc_units::{Span, Time};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Schemes that are loaded when a run first needs them, and are gone with this value, or with the process however it ends.
#[derive(Debug)]
pub struct KernelSchemes {
    machine: Machine,
    links: TraceCache,
    held: Mutex<BTreeMap<Scheme, Held>>,
}

impl KernelSchemes {
    /// An empty backend. Call it before the process enters a user namespace, in which it seems to have every right.
    pub fn new() -> Self {
        Self { machine: Machine::current(), links: TraceCache::default(), held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Scheme, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, written: &Written) -> Result<(), ResolveError> {
        let mut held = self.held();
        let Entry::Vacant(place) = held.entry(written.scheme) else { return Ok(()) };
        let loaded = Held::load(written.scheme, &self.machine).map_err(|error| {
            let otherwise = match error {
                KernelError::NameTaken(name) => format!("; or write {name} here, to take it as it is set"),
                _ => String::new(),
            };
            ResolveError(format!("`{}`: {error}{otherwise}", written.text))
        })?;
        place.insert(loaded);
        Ok(())
    }

    /// The network's reports on each user's path, for the users whose flows request them.
    fn assisted_users(&self, scenario: &Scenario) -> Result<Vec<AssistedUser>, ResolveError> {
        let mut users: Vec<AssistedUser> = Vec::new();
        for (index, flow) in scenario.flows.iter().enumerate() {
            let Some(Written { text, advice: Some(request), .. }) = written(&flow.scheme)? else { continue };
            let first = users.iter().find(|user| scenario.flows[user.flow].user == flow.user);
            let Some(first) = first else {
                users.extend(self.assisted_user(scenario, index)?);
                continue;
            };
            let other = &scenario.flows[first.flow].scheme;
            if written(other)?.is_some_and(|other| other.advice != Some(request)) {
                return Err(ResolveError(format!(
                    "`{other}` and `{text}` ask for different reports to one user, and the kernel has one for each address; \
                     let them ask for the same, or leave them to the driver `sim`"
                )));
            }
        }
        Ok(users)
    }

    fn assisted_user(&self, scenario: &Scenario, flow: usize) -> Result<Option<AssistedUser>, ResolveError> {
        let user = scenario.flows[flow].user;
        let of_user = || scenario.flows.iter().filter(move |flow| flow.user == user);
        // The reports last from the user's first flow to the last.
        let mut whole = scenario.clone();
        whole.flows[flow].start = of_user().map(|flow| flow.start).min().unwrap_or(Time::ZERO);
        whole.flows[flow].stop = of_user().map(|flow| flow.stop.unwrap_or(Time::NEVER)).max();
        let scheme = cellcc_schemes::registry().parse(&whole.flows[flow].scheme);
        let scheme = scheme.map_err(|error| ResolveError(error.to_string()))?;
        let reports = Support::KERNEL.reports(&whole, flow, &scheme, &scenario.capacities(&self.links)?)?;
        Ok(reports.map(|reports| AssistedUser { flow, reports }))
    }

    /// Gives the newest report on the path to a peer to the schemes that take advice.
    ///
    /// # Errors
    /// The kernel does not take it.
    pub fn advise(&self, peer: IpAddr, advice: &Advice) -> Result<(), RunError> {
        let advice = advice_now(advice);
        let advised = self.held().values().try_for_each(|held| held.advise(peer, &advice));
        advised.map_err(|error| RunError(error.to_string()))
    }

    /// Removes the reports to them: the next run has the same addresses.
    pub fn forget_advice(&self, peers: &[IpAddr]) {
        let held = self.held();
        peers.iter().for_each(|peer| held.values().for_each(|held| held.forget_advice(*peer)));
    }
}

impl Default for KernelSchemes {
    fn default() -> Self {
        Self::new()
    }
}

/// A user whose flows ask for reports.
struct AssistedUser {
    /// The first of its flows that does.
    flow: usize,
    reports: Reports<TracedPath>,
}

impl TcpBackend for KernelSchemes {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        let mut settings = BTreeMap::new();
        for flow in &mut scenario.flows {
            let Some(written) = written(&flow.scheme)? else { continue };
            let other = settings.insert(written.scheme, written.clone());
            if let Some(other) = other.filter(|other| other.settings != written.settings) {
                return Err(ResolveError(format!(
                    "`{}` and `{}` in one run: the kernel's {} has the same settings for all; give them the same, or leave \
                     the run to the driver `sim`",
                    other.text,
                    written.text,
                    written.scheme.name()
                )));
            }
            self.hold(&written)?;
            flow.scheme = written.text;
        }
        self.assisted_users(scenario).map(drop)
    }

    fn kernel_name(&self, scheme: &str) -> Option<&'static str> {
        Some(written(scheme).ok()??.scheme.name())
    }

    fn prepare(&self, scenario: &Scenario) -> Result<(), RunError> {
        let failed = |error: KernelError| RunError(error.to_string());
        for flow in &scenario.flows {
            let Some(written) = written(&flow.scheme).map_err(|error| RunError(error.to_string()))? else {
                continue;
            };
            if let Some(held) = self.held().get(&written.scheme) {
                held.set(&written.settings).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn assist(&self, run: TcpRun<'_>) -> Result<(), RunError> {
        let TcpRun { scenario, peers, queues, epoch, until } = run;
        let users = self.assisted_users(scenario).map_err(|error| RunError(error.to_string()))?;
        let reports = |AssistedUser { flow, reports }| {
            let user = scenario.flows[flow].user;
            (peers[flow], UserReports::new(reports, user, scenario, Arc::clone(queues)))
        };
        let mut users: Vec<_> = users.into_iter().map(reports).collect();
        while let Some(next) = users.iter().map(|(_, reports)| reports.next_wake()).min()
            && next < until
        {
            sleep_until(epoch, next);
            let now = Time::ZERO + Span::from_secs_f64(epoch.elapsed().as_secs_f64());
            for (peer, reports) in &mut users {
                if let Some(advice) = reports.poll(now) {
                    self.advise(*peer, &advice)?;
                }
            }
        }
        if !users.is_empty() {
            sleep_until(epoch, until);
            self.forget_advice(peers);
        }
        Ok(())
    }
}

/// A scheme of the simulator's that the kernel has from here. A scheme written with the kernel's name was loaded before, and
/// runs as it is.
fn written(text: &str) -> Result<Option<Written>, ResolveError> {
    if Scheme::ALL.into_iter().any(|scheme| text.starts_with(scheme.name())) {
        return Ok(None);
    }
    Written::read(text).map_err(|error| ResolveError(error.to_string()))
}

fn sleep_until(epoch: Instant, time: Time) {
    let at = epoch + Duration::from_nanos(time.since(Time::ZERO).as_nanos());
    sleep(at.saturating_duration_since(Instant::now()));
}

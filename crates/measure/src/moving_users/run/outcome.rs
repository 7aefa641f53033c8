//! The outcome, as text and as problems.

use super::USERS;
use super::heard::SiteChanges;
use super::sites::{Move, SITES};
use anyhow::{Context, Result};
use cellcc_netassist::base_station::REPORT_PERIOD;
use cellcc_test_support::memory_kib;
use std::fmt;
use std::net::IpAddr;
use std::time::Instant;

/// A record holds for three periods (`Users` of the service): a sender that receives reports of the new site within them was
/// never without.
const MAX_RECOVERY_PERIODS: f64 = 3.0;
/// The limit of a process's growth from its first ten seconds on: the bound that was set before the first run.
const MAX_GROWTH_KIB: u64 = 2048;
/// A process that kept one record of 64 bytes for each report on three users would have grown by 1.1 MiB in the second half of ten
/// minutes.
const MAX_GROWTH_IN_SECOND_HALF_KIB: u64 = 1024;

/// Periods from each move to a sender's first report from the new site; `None`: not before the user moved again.
type Recoveries = Vec<Option<f64>>;

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    moves: usize,
    recoveries: [(&'static str, Recoveries); 2],
    lost: Vec<String>,
    memory: Memory,
}

impl Outcome {
    pub(crate) fn new(
        moves: &[Move],
        users: &[IpAddr],
        kernel: &SiteChanges,
        quic: &SiteChanges,
        lost: Vec<String>,
        memory: Memory,
    ) -> Self {
        let recoveries = [("kernel", kernel), ("QUIC", quic)]
            .map(|(server, heard)| (server, recoveries(moves, users, heard)));
        Self { moves: moves.len(), recoveries, lost, memory }
    }

    /// The problems.
    pub(crate) fn problems(&self) -> Vec<String> {
        let lost = self.lost().iter().map(|lost| format!("lost flow: {lost}"));
        lost.chain(self.late()).chain(self.grown()).collect()
    }

    /// Flows that were lost, and why.
    pub(crate) fn lost(&self) -> &[String] {
        &self.lost
    }

    /// Servers that learned of a new site too late.
    pub(crate) fn late(&self) -> Vec<String> {
        let is_late = |periods: &&Option<f64>| periods.is_none_or(|periods| periods > MAX_RECOVERY_PERIODS);
        let late = self.recoveries.iter().filter_map(|(server, recoveries)| {
            let late = recoveries.iter().filter(is_late).count();
            let none = recoveries.is_empty().then(|| "no user has moved: give more time".to_owned());
            let text = format!(
                "the {server} server had no report from the new site within three periods: {late} times"
            );
            none.or((late > 0).then_some(text))
        });
        late.collect()
    }

    /// Processes that have grown.
    fn grown(&self) -> Vec<String> {
        let grown = self.memory.0.iter().filter_map(|Resident { name, kib, .. }| match kib[..] {
            [start, .., end] if end > start + MAX_GROWTH_KIB => {
                Some(format!("{name} has grown from {start} to {end} KiB"))
            }
            [.., middle, end] if end > middle + MAX_GROWTH_IN_SECOND_HALF_KIB => {
                Some(format!("{name} has grown from {middle} to {end} KiB in the second half"))
            }
            _ => None,
        });
        grown.collect()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = SITES.map(|(name, _)| name);
        writeln!(
            f,
            "{} users, {} moves between {from} and {to}, {} flows lost\n",
            USERS.len(),
            self.moves,
            self.lost.len()
        )?;
        writeln!(
            f,
            "| server | moves | periods until a report from the new site: median | p95 | worst |\n|---|---|---|---|---|"
        )?;
        for (server, recoveries) in &self.recoveries {
            let mut sorted: Vec<f64> =
                recoveries.iter().map(|periods| periods.unwrap_or(f64::INFINITY)).collect();
            sorted.sort_by(f64::total_cmp);
            let at = |share: f64| nearest_rank(&sorted, share);
            writeln!(
                f,
                "| {server} | {} | {:.2} | {:.2} | {:.2} |",
                sorted.len(),
                at(0.5),
                at(0.95),
                at(1.0)
            )?;
        }
        writeln!(f, "\n| process | resident, MiB: start | middle | end |\n|---|---|---|---|")?;
        for Resident { name, kib, .. } in &self.memory.0 {
            let mib: Vec<_> = kib.iter().map(|kib| format!("{:.1}", *kib as f64 / 1024.0)).collect();
            writeln!(f, "| {name} | {} |", mib.join(" | "))?;
        }
        Ok(())
    }
}

fn nearest_rank(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

fn recoveries(moves: &[Move], users: &[IpAddr], heard: &SiteChanges) -> Recoveries {
    let heard = heard.all();
    let recovery = |(index, moved): (usize, &Move)| {
        let next = moves[index + 1..].iter().find(|next| next.user == moved.user).map(|next| next.at);
        let is_it = |at: Instant| at >= moved.at && next.is_none_or(|next| at < next);
        let began = heard
            .iter()
            .find(|began| began.user == users[moved.user] && began.site == moved.to && is_it(began.at))?;
        Some((began.at - moved.at).as_secs_f64() * 1000.0 / REPORT_PERIOD.as_millis_f64())
    };
    moves.iter().enumerate().map(recovery).collect()
}

// Resident memory of processes over the run.

/// A process, and its memory at each look, in KiB.
#[derive(Debug)]
struct Resident {
    name: String,
    process: u32,
    kib: Vec<u64>,
}

/// The memory of processes at each look.
#[derive(Debug)]
pub(crate) struct Memory(Vec<Resident>);

impl Memory {
    /// The memory of these processes and of this one, which has the QUIC server, its clients and the emulated path.
    pub(crate) fn new(processes: Vec<(String, u32)>) -> Self {
        let own = ("QUIC server, clients, emulated path".to_owned(), std::process::id());
        let resident = |(name, process)| Resident { name, process, kib: Vec::new() };
        Self(processes.into_iter().chain([own]).map(resident).collect())
    }

    pub(crate) fn look(&mut self) -> Result<()> {
        for Resident { name, process, kib } in &mut self.0 {
            kib.push(memory_kib(process, "VmRSS").with_context(|| format!("{name} has ended"))?);
        }
        Ok(())
    }
}

//! From an xApp's lines to samples.
//!
//! Indications come each 1 to 100 ms. They are gathered until a period of reports is over. In each step from one to the next a user
//! was busy
//!
//! - all the time where something waited at both ends, as the newest queues of its bearers tell;
//! - else as long as its resource blocks take at the cell's rate, times the users that were served, and not longer than the step.

use super::line::{Line, MacUe, Malformed, parse};
use crate::entries::MAX_USERS;
use crate::identity::{RadioName, SourceName};
use crate::sample::Sample;
use crate::source::Reading;
use cellcc_assist::{BaseRtt, Counted, Evidence, Knowledge, Observation};
use cellcc_units::{Bytes, Rate, Span, Time};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

/// The packet that the minimum RTT is about.
const PACKET: Bytes = Bytes::new(1500);
/// The paper's period of reports (NATCP, section 2.2.1).
const PERIOD_US: u64 = 50_000;
/// Indications that are farther apart do not belong together.
const MAX_STEP_US: u64 = 10_000_000;
/// Bearers of a user (3GPP TS 38.331: 32 data bearers).
const MAX_BEARERS: usize = 32;

/// Settings that an xApp does not report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlexRicSettings {
    /// The cell's physical cell identity.
    pub pci: u16,
    /// Resource blocks that the cell has for users in a second: those of a slot, times the downlink's slots in a second.
    pub resource_blocks_per_second: u64,
    /// Between the servers' gateway and the base station, both ways, where it is known.
    pub network_rtt: Option<Span>,
    /// Which field of a report identifies its user.
    pub names: UserNames,
}

/// The identifier of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UserNames {
    /// Its temporary identifier, for a table of radio names.
    #[default]
    Radio,
    /// Its tunnel to the core, for the sessions of a core.
    Tunnel,
}

/// Makes samples of an xApp's lines. Pure.
#[derive(Debug)]
pub struct FlexRicReader {
    settings: FlexRicSettings,
    users: HashMap<u16, User>,
}

#[derive(Debug, Clone, Default)]
struct User {
    tunnel: Option<u32>,
    bearers: BTreeMap<u8, Bytes>,
    before: Option<Before>,
    /// The data gathered since the period began.
    gathered: Gathered,
}

#[derive(Debug, Clone, Copy)]
struct Before {
    at_us: u64,
    counted: MacUe,
    queued: Bytes,
}

#[derive(Debug, Clone, Copy, Default)]
struct Gathered {
    lasted_us: u64,
    served: Bytes,
    received: Bytes,
    busy: Span,
}

impl FlexRicReader {
    /// A reader that has seen nothing.
    pub fn new(settings: FlexRicSettings) -> Self {
        Self { settings, users: HashMap::new() }
    }

    /// Restarts: lines are missing.
    pub fn forget(&mut self) {
        self.users.clear();
    }

    /// The samples that a line which arrived at `now` completes.
    ///
    /// # Errors
    /// It is no line of an xApp.
    pub fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Reading, Malformed> {
        let line = parse(bytes)?;
        if self.users.len() > MAX_USERS {
            self.users.retain(|_, user| user.is_recent(line.at_us));
        }
        for tunnel in &line.gtp {
            self.users.entry(tunnel.rnti).or_default().tunnel = Some(tunnel.teidgnb);
        }
        for bearer in &line.rlc {
            let bearers = &mut self.users.entry(bearer.rnti).or_default().bearers;
            if bearers.len() < MAX_BEARERS || bearers.contains_key(&bearer.rbid) {
                bearers.insert(bearer.rbid, bearer.queued());
            }
        }
        let served = self.served_users(&line);
        let steps = line.mac.iter().filter_map(|counted| self.step(now, line.at_us, counted, served));
        Ok(Reading { samples: steps.collect(), left_out: line.left_out })
    }

    fn served_users(&self, line: &Line) -> u64 {
        let is_served = |counted: &&MacUe| {
            let before = self.users.get(&counted.rnti).and_then(|user| user.before);
            before.is_some_and(|before| counted.dl_aggr_prb > before.counted.dl_aggr_prb)
        };
        line.mac.iter().filter(is_served).count().max(1) as u64
    }

    fn step(&mut self, now: Time, at_us: u64, counted: &MacUe, served_users: u64) -> Option<Sample> {
        let Self { settings, users } = self;
        let user = users.entry(counted.rnti).or_default();
        let queued: Bytes = user.bearers.values().copied().sum();
        let before = user.before.replace(Before { at_us, counted: *counted, queued });
        let step = before.and_then(|before| step(&before, at_us, counted));
        let (Some(before), Some((step_us, served, received, blocks))) = (before, step) else {
            user.gathered = Gathered::default();
            return None;
        };
        let step_span = Span::from_micros(step_us);
        let gathered = &mut user.gathered;
        gathered.lasted_us += step_us;
        gathered.served += served;
        gathered.received += received;
        gathered.busy += if !before.queued.is_zero() && !queued.is_zero() {
            step_span
        } else {
            settings.time_of(blocks.saturating_mul(served_users)).min(step_span)
        };
        if gathered.lasted_us < PERIOD_US {
            return None;
        }
        let gathered = std::mem::take(gathered);
        let user = match (settings.names, user.tunnel) {
            (UserNames::Radio, _) => SourceName::Radio(RadioName { pci: settings.pci, rnti: counted.rnti }),
            (UserNames::Tunnel, Some(tunnel)) => SourceName::Tunnel(tunnel),
            (UserNames::Tunnel, None) => return None,
        };
        let measured = Knowledge::Counted(gathered.counted(queued, settings.network_rtt));
        Some(Sample { user, cell: settings.pci.into(), until: now, measured })
    }
}

/// Its length, the served and received bytes in it, and the resource blocks; `None` where the two do not belong together.
fn step(before: &Before, at_us: u64, counted: &MacUe) -> Option<(u64, Bytes, Bytes, u64)> {
    let step_us = at_us.checked_sub(before.at_us).filter(|step| (1..=MAX_STEP_US).contains(step))?;
    let served = counted.dl_aggr_tbs.checked_sub(before.counted.dl_aggr_tbs)?;
    let received = counted.ul_aggr_tbs.checked_sub(before.counted.ul_aggr_tbs)?;
    let blocks = counted.dl_aggr_prb.checked_sub(before.counted.dl_aggr_prb)?;
    Some((step_us, Bytes::new(served), Bytes::new(received), blocks))
}

impl User {
    fn is_recent(&self, at_us: u64) -> bool {
        self.before.is_some_and(|before| at_us.saturating_sub(before.at_us) <= MAX_STEP_US)
    }
}

impl FlexRicSettings {
    fn time_of(&self, blocks: u64) -> Span {
        let nanos = u128::from(blocks) * 1_000_000_000 / u128::from(self.resource_blocks_per_second.max(1));
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Gathered {
    fn counted(&self, queued: Bytes, network_rtt: Option<Span>) -> Counted {
        let period = Span::from_micros(self.lasted_us);
        let downlink = Observation {
            period,
            served: self.served,
            busy: self.busy.min(period),
            backlog: queued,
            channel: None,
            packet: PACKET,
            evidence: Evidence::Queue,
        };
        Counted {
            downlink,
            uplink: Rate::from_transfer(self.received, period),
            uplink_delay: None,
            base_rtt: BaseRtt::ToBaseStation(network_rtt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 106 blocks in each of 1400 slots a second.
    const SETTINGS: FlexRicSettings = FlexRicSettings {
        pci: 1,
        resource_blocks_per_second: 148_400,
        network_rtt: Some(Span::from_millis(10)),
        names: UserNames::Radio,
    };

    fn line(ms: u64, bytes: u64, blocks: u64, queued: u64) -> String {
        format!(
            r#"{{"tstamp":{},"mac":[{{"rnti":7,"dl_aggr_tbs":{bytes},"ul_aggr_tbs":0,"dl_aggr_prb":{blocks}}}],
            "rlc":[{{"rnti":7,"rbid":1,"txbuf_occ_bytes":{queued}}}]}}"#,
            ms * 1000
        )
    }

    fn read(reader: &mut FlexRicReader, text: &str) -> Vec<Sample> {
        reader.read(Time::ZERO, text.as_bytes()).unwrap().samples
    }

    fn observed(samples: &[Sample]) -> Observation {
        match samples[0].measured {
            Knowledge::Counted(counted) => counted.downlink,
            Knowledge::Known(_) => panic!("no oracle"),
        }
    }

    #[test]
    fn indications_are_gathered_until_a_period_is_over() {
        let mut reader = FlexRicReader::new(SETTINGS);
        for step in 0..5 {
            assert_eq!(read(&mut reader, &line(10 * step, 15_000 * step, 0, 3000)), []);
        }
        let samples = read(&mut reader, &line(50, 75_000, 0, 3000));
        let observed = observed(&samples);
        assert_eq!((observed.period, observed.served), (Span::from_millis(50), Bytes::new(75_000)));
        assert_eq!((observed.busy, observed.backlog), (Span::from_millis(50), Bytes::new(3000)));
        assert_eq!(read(&mut reader, &line(60, 90_000, 0, 3000)), [], "the next period has begun");
    }

    #[test]
    fn without_a_queue_the_resource_blocks_say_how_long() {
        let mut reader = FlexRicReader::new(SETTINGS);
        read(&mut reader, &line(0, 0, 0, 0));
        // A tenth of a second's blocks in 50 ms; one step of 25 ms can hold at most half.
        let half = read(&mut reader, &line(50, 10_000, 1484, 0));
        assert_eq!(observed(&half).busy, Span::from_millis(10));
        let full = read(&mut reader, &line(100, 20_000, 1484 + 14_840, 0));
        assert_eq!(observed(&full).busy, Span::from_millis(50), "not longer than the step");
    }

    #[test]
    fn counters_that_begin_again_begin_a_period() {
        let mut reader = FlexRicReader::new(SETTINGS);
        read(&mut reader, &line(0, 1_000_000, 10, 0));
        for late in [line(50, 0, 0, 0), line(50, 0, 0, 0), line(20_000, 75_000, 0, 0)] {
            assert_eq!(read(&mut reader, &late), [], "smaller, of the same time, after a pause");
        }
        assert_eq!(read(&mut reader, &line(20_050, 150_000, 0, 0)).len(), 1);
    }

    #[test]
    fn a_user_is_known_by_its_tunnel_once_that_is_reported() {
        let mut reader = FlexRicReader::new(FlexRicSettings { names: UserNames::Tunnel, ..SETTINGS });
        read(&mut reader, &line(0, 0, 0, 0));
        assert_eq!(read(&mut reader, &line(50, 75_000, 0, 0)), []);
        read(&mut reader, r#"{"tstamp":60000,"gtp":[{"rnti":7,"teidgnb":12}]}"#);
        let samples = read(&mut reader, &line(100, 150_000, 0, 0));
        assert_eq!(samples[0].user, SourceName::Tunnel(12));
    }
}

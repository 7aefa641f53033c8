//! `cellcc assist watch`.

use super::Connect;
use crate::exit::{Exit, tell};
use crate::network::process::{runtime, signals};
use crate::network::repeat::Repeat;
use cellcc_assist::AdviceRecord;
use cellcc_control::AdviceClass;
use cellcc_netassist_client::{Client, ClientEvent, Role};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc assist watch quic://edge:4443 --credentials keys/operator-desk

Classes: backlogged (the rate served is the capacity), partial (estimated), idle (held from before, or predicted); stale (the user's source is late), silent (no report arrives): servers then continue without advice.")]
pub(crate) struct Args {
    #[command(flatten)]
    connect: Connect,
    #[command(flatten)]
    repeat: Repeat,
}

const HEADER: [&str; 11] = [
    "user",
    "class",
    "down, Mbit/s",
    "up, Mbit/s",
    "min RTT, ms",
    "queue, kB",
    "flows",
    "cells seen",
    "records",
    "lost",
    "age, ms",
];

/// Reports received on a user.
#[derive(Debug)]
struct Heard {
    last: AdviceRecord,
    at: Instant,
    records: u64,
    missing: u64,
}

#[derive(Serialize)]
struct UserObject {
    user: IpAddr,
    class: &'static str,
    downlink_mbit_per_s: f64,
    uplink_mbit_per_s: f64,
    /// `None`: not known.
    min_rtt_ms: Option<f64>,
    queue_bytes: u64,
    flows: u16,
    cells_seen: u64,
    records: u64,
    missing_records: u64,
    silent_ms: u64,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let settings = args.connect.settings(Role::Operator)?;
    let heard: Arc<Mutex<BTreeMap<IpAddr, Heard>>> = Arc::default();
    tell(&format!("NetAssist: connecting with {}", args.connect.url));
    runtime()?.block_on(async {
        let table = Arc::clone(&heard);
        let (connected, is_connected) = watch::channel(None);
        let client = Client::start(settings, move |event| match event {
            ClientEvent::Record { user, record, arrived_at } => {
                let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
                table.entry(user).and_modify(|known| known.hear(record, arrived_at)).or_insert(Heard {
                    last: *record,
                    at: arrived_at,
                    records: 1,
                    missing: 0,
                });
            }
            ClientEvent::Denied { reason, .. } => tell(&format!("NetAssist: {reason}")),
            ClientEvent::Lost(reason) => {
                tell(&format!("NetAssist: {reason}; trying again"));
                connected.send_replace(Some(false));
            }
            ClientEvent::Connected => {
                connected.send_replace(Some(true));
            }
            ClientEvent::Granted(_) | ClientEvent::Unusable => {}
        });
        let client = client.map_err(Exit::failed)?;
        client.want_all();
        show(args, &heard, is_connected).await
    })
}

/// `connected`: whether there is a connection; `None` before the first attempt has succeeded or failed.
async fn show(
    args: &Args,
    heard: &Mutex<BTreeMap<IpAddr, Heard>>,
    mut connected: watch::Receiver<Option<bool>>,
) -> Result<ExitCode, Exit> {
    let mut stop = signals();
    // Until then there is nothing to show; once is as long as the first attempt takes.
    let is_over = |now: &Option<bool>| if args.repeat.once { now.is_some() } else { *now == Some(true) };
    tokio::select! {
        now = connected.wait_for(is_over) => {
            if now.is_ok_and(|now| *now == Some(false)) {
                return Err(Exit::failed("there is no connection, so there is nothing to show"));
            }
        }
        _ = stop.wait_for(|stop| *stop) => return Ok(ExitCode::SUCCESS),
    }
    loop {
        tokio::select! {
            () = tokio::time::sleep(args.repeat.every()) => {}
            _ = stop.wait_for(|stop| *stop) => return Ok(ExitCode::SUCCESS),
        }
        let objects: Vec<_> = {
            let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.iter().map(|(user, heard)| object(*user, heard)).collect()
        };
        let rows: Vec<_> = objects.iter().map(row).collect();
        args.repeat.show(&HEADER, &rows, &objects)?;
        if args.repeat.once {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

impl Heard {
    fn hear(&mut self, record: &AdviceRecord, at: Instant) {
        let ahead = record.sequence.wrapping_sub(self.last.sequence);
        // Half of all numbers are newer.
        if !record.first && (2..=u32::MAX / 2).contains(&ahead) {
            self.missing += u64::from(ahead - 1);
        }
        self.records += 1;
        (self.last, self.at) = (*record, at);
    }

    /// Nothing has come for longer than the last record may be used.
    fn is_silent(&self) -> bool {
        self.at.elapsed() > Duration::from_nanos(self.last.valid_for.as_nanos())
    }
}

fn object(user: IpAddr, heard: &Heard) -> UserObject {
    let record = &heard.last;
    let class = match record.class {
        _ if heard.is_silent() => "silent",
        _ if record.stale => "stale",
        AdviceClass::Backlogged => "backlogged",
        AdviceClass::Partial => "partial",
        AdviceClass::Idle => "idle",
    };
    UserObject {
        user,
        class,
        downlink_mbit_per_s: record.downlink.as_mbit_per_sec(),
        uplink_mbit_per_s: record.uplink.as_mbit_per_sec(),
        min_rtt_ms: record.min_rtt.map(|parts| parts.total().as_millis_f64()),
        queue_bytes: record.backlog.get(),
        flows: record.flows,
        cells_seen: u64::from(record.cell_epoch) + 1,
        records: heard.records,
        missing_records: heard.missing,
        silent_ms: u64::try_from(heard.at.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

fn row(user: &UserObject) -> Vec<String> {
    vec![
        user.user.to_string(),
        user.class.into(),
        format!("{:.2}", user.downlink_mbit_per_s),
        format!("{:.2}", user.uplink_mbit_per_s),
        user.min_rtt_ms.map_or("unknown".into(), |ms| format!("{ms:.2}")),
        format!("{:.1}", user.queue_bytes as f64 / 1000.0),
        user.flows.to_string(),
        user.cells_seen.to_string(),
        user.records.to_string(),
        user.missing_records.to_string(),
        user.silent_ms.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Span;

    /// It was shown as `backlogged`, with its last rate, for as long as the service was gone.
    #[test]
    fn a_user_of_whom_nothing_comes_any_more_is_silent() {
        let record = AdviceRecord { valid_for: Span::from_secs(3), ..AdviceRecord::EXAMPLE };
        let class = |last| {
            let at = Instant::now().checked_sub(Duration::from_secs(last)).unwrap();
            object([10, 45, 0, 2].into(), &Heard { last: record, at, records: 1, missing: 0 }).class
        };
        assert_eq!((class(0), class(9)), ("backlogged", "silent"));
    }
}

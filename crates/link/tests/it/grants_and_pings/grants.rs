//! NR-Scope's logs of two commercial cells: every grant, by frame and slot.

use super::{crossings, files, folder};
use cellcc_link::{Harq, LinkConfig};
use cellcc_units::{Span, Time};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Slots of a millisecond until the frame number begins again.
const HYPERFRAME: i64 = 10_240;

/// A grant of a downlink, its slot counted from the first one of the log.
struct Grant {
    slot: i64,
    user: String,
    process: u32,
    new_data: u32,
    redundancy_version: u32,
}

/// A block: the slots of its first and its last transmission.
#[derive(Clone, Copy)]
struct Block {
    first: i64,
    last: i64,
}

/// The grants of a log. The number of its hyperframe is that which brings a grant nearest to the logger's clock.
fn grants(path: &Path) -> Vec<Grant> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(path).unwrap();
    let mut rows: Vec<(f64, Grant)> = Vec::new();
    for row in reader.deserialize::<HashMap<String, String>>().flatten() {
        let text = |key: &str| row.get(key).map(String::as_str);
        let number = |key: &str| text(key)?.parse::<u32>().ok();
        let is_data =
            text("rnti_type") == Some("C-RNTI") && text("dci_format").is_some_and(|it| it.starts_with('1'));
        let grant = || {
            let slot = i64::from(number("system_frame_index")?) * 10 + i64::from(number("slot_index")?);
            let user = text("rnti")?.to_owned();
            let (process, new_data) = (number("harq_id")?, number("new_data_indicator")?);
            let redundancy_version = number("redundancy_version")?;
            Some((
                text("timestamp")?.parse().ok()?,
                Grant { slot, user, process, new_data, redundancy_version },
            ))
        };
        rows.extend(grant().filter(|_| is_data));
    }
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let Some((begin, first)) = rows.first().map(|(time, grant)| (*time, grant.slot)) else {
        return Vec::new();
    };
    let unwrapped = rows.into_iter().map(|(time, grant)| {
        let guess = first as f64 + (time - begin) * 1e3;
        let hyperframes = ((guess - grant.slot as f64) / HYPERFRAME as f64).round() as i64;
        Grant { slot: grant.slot + hyperframes * HYPERFRAME, ..grant }
    });
    let mut grants: Vec<Grant> = unwrapped.collect();
    grants.sort_by_key(|grant| grant.slot);
    grants
}

/// The blocks of each user: a first transmission, and those of the same process with the same indicator soon after.
fn blocks(grants: &[Grant]) -> Vec<Vec<Block>> {
    let mut users: BTreeMap<&str, Vec<Block>> = BTreeMap::new();
    // Of each process of a user the place of its block, and its indicator.
    let mut open: HashMap<(&str, u32), (usize, u32)> = HashMap::new();
    for grant in grants {
        let blocks = users.entry(&grant.user).or_default();
        let process = (grant.user.as_str(), grant.process);
        let again = open.get(&process).filter(|(place, new_data)| {
            let longest = if grant.redundancy_version > 0 { 40 } else { 12 };
            *new_data == grant.new_data && (3..=longest).contains(&(grant.slot - blocks[*place].last))
        });
        match again {
            Some((place, _)) => blocks[*place].last = grant.slot,
            None => {
                open.insert(process, (blocks.len(), grant.new_data));
                blocks.push(Block { first: grant.slot, last: grant.slot });
            }
        }
    }
    users.into_values().collect()
}

/// Stretches of load: thirty blocks and more, each with twenty of its user within the 50 ms before or after.
fn stretches(blocks: &[Block]) -> Vec<&[Block]> {
    let first_from = |slot: i64| blocks.partition_point(|block| block.first < slot);
    let is_busy = |at: usize| {
        let slot = blocks[at].first;
        (at - first_from(slot - 50)).max(first_from(slot + 50) - at) >= 20
    };
    let busy: Vec<bool> = (0..blocks.len()).map(is_busy).collect();
    let places: Vec<usize> = (0..blocks.len()).collect();
    let together = |one: &usize, other: &usize| {
        busy[*one] == busy[*other] && blocks[*other].first - blocks[*one].first < 50
    };
    let runs = places.chunk_by(together).filter(|run| busy[run[0]] && run.len() >= 30);
    runs.map(|run| &blocks[run[0]..=run[run.len() - 1]]).collect()
}

/// The share that is held back, and the mean over all in milliseconds.
fn held_back(late_ms: &[f64]) -> (f64, f64) {
    let count = late_ms.len() as f64;
    (late_ms.iter().filter(|late| **late > 0.0).count() as f64 / count, late_ms.iter().sum::<f64>() / count)
}

/// Two cells' downlinks under load: 16.2 and 16.1 % were held back, and 1.24 and 1.34 ms in the mean.
#[test]
fn recorded_blocks_under_load_are_held_back_as_they_were() {
    let Some(root) = folder("CELLCC_NRSCOPE", "NR-Scope's logs, t_mobile*_ueactivity_*.csv") else { return };
    for cell in ["t_mobile1_ueactivity_", "t_mobile2_ueactivity_"] {
        let logs = files(&root, &|name| name.starts_with(cell) && name.ends_with(".csv"));
        let users: Vec<Vec<Block>> = logs.iter().flat_map(|path| blocks(&grants(path))).collect();
        let loaded: Vec<&[Block]> =
            users.iter().filter(|blocks| blocks.len() >= 40).flat_map(|it| stretches(it)).collect();
        assert!(!loaded.is_empty(), "{cell}: no stretch of load in {} logs", logs.len());
        let recorded = loaded.iter().flat_map(|blocks| {
            blocks.iter().scan(i64::MIN, |until, block| {
                *until = block.last.max(*until);
                Some((*until - block.first) as f64)
            })
        });
        let (share, mean) = held_back(&recorded.collect::<Vec<_>>());
        assert!(
            (share - 0.16).abs() < 0.01 && (1.1..1.5).contains(&mean),
            "{cell}: recorded {share}, {mean} ms"
        );
        let modelled = loaded.iter().zip(1..).flat_map(|(blocks, seed)| {
            let begin = blocks[0].first;
            let times = blocks.iter().map(|block| {
                Time::ZERO + Span::from_millis((block.first - begin) as u64) + Span::from_micros(100)
            });
            let config = LinkConfig { harq: Some(Harq::FDD), ..LinkConfig::transparent() };
            let late = crossings(config, seed, times).into_iter();
            late.map(|it| it.arrived_at.since(it.departed_at).as_millis_f64() - 17.0).collect::<Vec<_>>()
        });
        let (share, mean) = held_back(&modelled.collect::<Vec<_>>());
        assert!((0.12..0.20).contains(&share) && (0.9..1.5).contains(&mean), "{cell}: {share}, {mean} ms");
    }
}

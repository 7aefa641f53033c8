//! The wait of a silent phone, against the findings of pings. Repetitions are held to their figures where they stand, in the crate.

use cellcc_link::radio::{self, Cycle, Findings, Recording};
use cellcc_link::{Capacity, Delivery, Link, LinkConfig, Packet, Poll};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
struct Full;

impl Packet for Full {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
}

/// When pings 200.7 ms apart are sent, and their RTTs over a path of 34 ms; in milliseconds.
fn modelled(access: &str, count: u64) -> Vec<(f64, f64)> {
    let capacity = Arc::new(Capacity::constant(Rate::from_mbit_per_sec(1_000.0)).unwrap());
    let access = (!access.is_empty()).then(|| access.parse().unwrap());
    let mut link = Link::new(LinkConfig { capacity, access, ..LinkConfig::transparent() }, 5);
    let times = (0..count).map(|number| Time::ZERO + Span::from_micros(200_700 * number));
    times.for_each(|at| link.enqueue(at, Full).expect("there is room"));
    let next = || match link.poll(Time::ZERO + Span::from_secs(1_000_000)) {
        Poll::Ready(delivery) => Some(delivery),
        _ => None,
    };
    let rtt = |it: &Delivery<Full>| 34.0 + it.departed_at.since(it.queued_at).as_millis_f64();
    std::iter::from_fn(next).map(|it| (it.queued_at.as_secs_f64() * 1e3, rtt(&it))).collect()
}

/// The cycle that `cellcc trace radio` finds in such pings.
fn cycle(pings: &[(f64, f64)]) -> Option<Cycle> {
    let mut text = String::new();
    for (number, (sent, rtt)) in (1..).zip(pings) {
        let came = (sent + rtt) / 1e3;
        writeln!(text, "[{came:.6}] 64 bytes from a: icmp_seq={number} ttl=60 time={rtt:.3} ms").unwrap();
    }
    Findings::new(&[radio::parse("pings", text.as_bytes()).unwrap()]).pings.unwrap().cycle
}

/// The shares of windows with this cycle: as they are, and shuffled.
fn shares(cycle: &Cycle, request_ms: f64) -> (f64, f64) {
    let period = cycle.periods.iter().find(|period| period.period_ms == request_ms).unwrap();
    (period.share, period.shuffled_share)
}

/// Recorded on 5G SA and NSA: 12 ms above the smallest in the median, quartiles 8 and 17. So access explains most of the
/// median, and nothing of the tail.
#[test]
fn a_ping_waits_evenly_up_to_the_cycle_of_requests() {
    let mut rtts: Vec<f64> = modelled("request=20ms", 4_000).into_iter().map(|(_, rtt)| rtt).collect();
    rtts.sort_by(f64::total_cmp);
    let above = |share: f64| rtts[(share * (rtts.len() - 1) as f64) as usize] - rtts[0];
    assert!((above(0.5) - 10.0).abs() < 1.0, "{}", above(0.5));
    assert!((above(0.25) - 5.0).abs() < 1.0 && (above(0.75) - 15.0).abs() < 1.0);
    assert!(above(1.0) <= 20.0);
}

/// A window of 25 pings passes through 17.5 ms of a cycle: of one of 40 ms it says no more than that it is longer than 10.
#[test]
fn the_cycle_shows_in_the_pings_of_the_model() {
    for request_ms in [10.0, 20.0] {
        let found = cycle(&modelled(&format!("request={request_ms}ms"), 2_500)).unwrap();
        let (share, _) = shares(&found, request_ms);
        assert!(share > 0.9, "{request_ms} ms: {share}");
    }
    assert_eq!(cycle(&modelled("", 250)), None);
}

/// T-Mobile, Chicago and Boston: 20 ms in 10.2 % (SA) and 13.2 % (NSA) of the windows, and in none of them where their RTTs are
/// shuffled.
#[test]
fn the_cycle_shows_in_recorded_pings() {
    let Some(root) = std::env::var_os("CELLCC_PINGS") else {
        writeln!(std::io::stderr(), "left out: CELLCC_PINGS names no folder of rtt_tmobile_{{sa,nsa}}.out")
            .unwrap();
        return;
    };
    for name in ["rtt_tmobile_sa.out", "rtt_tmobile_nsa.out"] {
        let found = Findings::new(&recordings(Path::new(&root), name)).pings.expect(name).cycle.expect(name);
        let (share, shuffled) = shares(&found, 20.0);
        assert!((0.08..0.17).contains(&share) && shuffled < 0.01, "{name}: {share}, shuffled {shuffled}");
    }
}

/// All recordings of this name in a folder and below it.
fn recordings(folder: &Path, name: &str) -> Vec<Recording> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => recordings(&path, name),
            false if path.ends_with(name) => vec![radio::read(&path).unwrap()],
            false => Vec::new(),
        })
        .collect()
}

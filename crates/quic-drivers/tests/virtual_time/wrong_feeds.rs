//! Feeds that are wrong from the beginning, as a fault of a base station, an adapter or a configuration makes them: NATCP and NACubic
//! with each, next to BBR, which needs none. The test writes docs/evidence/natcp/wrong-feeds.md where `CELLCC_WRITE_DOCS` is set.

use cellcc_experiment::{Driver, NetAssist, Plan, PlanFile};
use cellcc_quic_drivers::VirtualDriver;
use cellcc_sim::SimDriver;
use cellcc_units::{QueueLimit, Ratio, Span};
use std::fmt::{self, Display, Formatter, Write};

const DURATION: Span = Span::from_secs(30);
/// The share of BBR's throughput that a flow has with any feed.
const LEAST_SHARE: f64 = 0.7;

struct Feed {
    name: &'static str,
    change: fn(&mut NetAssist),
}

const FEEDS: [Feed; 12] = [
    Feed { name: "right", change: |_| () },
    Feed { name: "no uplink part", change: |netassist| netassist.uplink_known = false },
    Feed { name: "minimum RTT x 0.1", change: |netassist| netassist.rtt_scale = Ratio::new(0.1) },
    Feed { name: "minimum RTT x 5", change: |netassist| netassist.rtt_scale = Ratio::new(5.0) },
    Feed { name: "bandwidth x 0.5", change: |netassist| netassist.scale = Ratio::new(0.5) },
    Feed { name: "bandwidth x 2", change: |netassist| netassist.scale = Ratio::new(2.0) },
    Feed { name: "bandwidth x 1/8", change: |netassist| netassist.scale = Ratio::new(0.125) },
    Feed { name: "bandwidth x 8", change: |netassist| netassist.scale = Ratio::new(8.0) },
    Feed { name: "bandwidth x 1/1000", change: |netassist| netassist.scale = Ratio::new(0.001) },
    Feed {
        name: "radio time: bandwidth and RTT x 2",
        change: |netassist| (netassist.scale, netassist.rtt_scale) = (Ratio::new(2.0), Ratio::new(2.0)),
    },
    Feed { name: "10 s old", change: |netassist| netassist.late = Span::from_secs(10) },
    Feed {
        name: "10 s old, as if new",
        change: |netassist| (netassist.late, netassist.age_known) = (Span::from_secs(10), false),
    },
];

struct Place {
    name: &'static str,
    link: &'static str,
    change: fn(&mut PlanFile),
}

/// The last resembles the live base station: packets wait up to 20 ms for the uplink and 10 ms at random, and the network knows of
/// neither.
const PLACES: [Place; 5] = [
    Place { name: "12 Mbit/s", link: "rate=12Mbit/s", change: |_| () },
    Place { name: "`lte-drive`", link: "lte-drive", change: |_| () },
    Place {
        name: "`lte-drive`, 80 ms",
        link: "lte-drive",
        change: |file| file.path.rtt = Span::from_millis(80),
    },
    Place { name: "`3g`", link: "3g", change: |_| () },
    Place {
        name: "6 Mbit/s, radio",
        link: "rate=6Mbit/s",
        change: |file| {
            (file.path.rtt, file.path.jitter) = (Span::from_millis(10), Span::from_millis(10));
            file.path.reverse.access = Some("request=20ms".parse().expect("an access"));
        },
    },
];

/// The mean rate and RTT of one flow.
struct Got {
    mbit_s: f64,
    rtt_ms: f64,
}

impl Display for Got {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}, {:.0}", self.mbit_s, self.rtt_ms)
    }
}

fn got(driver: &dyn Driver, scheme: &str, place: &Place, feed: &Feed) -> Got {
    let mut file = PlanFile {
        schemes: vec![scheme.into()],
        traces: vec![place.link.into()],
        duration: DURATION,
        ..PlanFile::default()
    };
    file.path.rtt = Span::from_millis(20);
    file.path.queue = QueueLimit::Packets(100).into();
    (place.change)(&mut file);
    (feed.change)(&mut file.netassist);
    let plan = Plan::new(&file, driver, "wrong feeds").expect("the plan is sound");
    let total = super::of_plan(driver, &plan).remove(0).total;
    Got { mbit_s: total.throughput_mbit_s, rtt_ms: total.rtt_mean_ms.expect("samples") }
}

/// The schemes that a feed misleads.
const MISLED: [&str; 2] = ["natcp", "nacubic"];

/// The flows of a place: BBR, and by feed, the misled.
struct Column {
    bbr: Got,
    by_feed: Vec<[Got; 2]>,
}

impl Column {
    fn new(driver: &dyn Driver, place: &Place) -> Self {
        let misled = |feed| MISLED.map(|scheme| got(driver, scheme, place, feed));
        Self { bbr: got(driver, "bbr", place, &FEEDS[0]), by_feed: FEEDS.iter().map(misled).collect() }
    }

    /// Those of all places. One thread after the other took as long as all other tests of the program together.
    fn all(driver: &dyn Driver) -> Vec<Self> {
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                PLACES.iter().map(|place| scope.spawn(|| Self::new(driver, place))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    }
}

const INTRODUCTION: &str = "\
# NATCP and NACubic with wrong feeds

Causal reports that are wrong from the beginning. 30 s, 20 ms, 100 packets; *radio*: 10 ms, up to 10 ms of jitter, and an uplink that
grants what it is asked once in 20 ms. Each cell: Mbit/s and mean RTT in ms of NATCP; of NACubic. The test `wrong_feeds` of
`crates/quic-drivers` makes this page, and fails where a flow gets less than 0.7 of BBR's throughput.
";

#[test]
fn whatever_a_feed_reports_a_flow_gets_seven_tenths_of_what_bbr_gets() {
    let mut page = INTRODUCTION.to_owned();
    let mut too_little = String::new();
    let drivers: [(&str, &dyn Driver); 2] = [
        ("Simulator", &SimDriver::new(cellcc_schemes::registry())),
        ("QUIC in virtual time", &VirtualDriver::new(cellcc_schemes::registry())),
    ];
    for (driver_name, driver) in drivers {
        let places: Vec<_> = PLACES.iter().map(|place| place.name).collect();
        let columns = Column::all(driver);
        let of_bbr: Vec<_> = columns.iter().map(|column| column.bbr.to_string()).collect();
        write!(
            page,
            "\n## {driver_name}\n\n<!-- unchecked: a test compares this page with what it computes -->\n\n| feed | {} |\n\
             |{}\n| (BBR, without one) | {} |\n",
            places.join(" | "),
            "---|".repeat(places.len() + 1),
            of_bbr.join(" | ")
        )
        .expect("a string takes everything");
        for (at, feed) in FEEDS.iter().enumerate() {
            let mut cells = Vec::new();
            for (place, Column { bbr, by_feed }) in PLACES.iter().zip(&columns) {
                for (scheme, got) in MISLED.iter().zip(&by_feed[at]) {
                    if got.mbit_s < LEAST_SHARE * bbr.mbit_s {
                        too_little += &format!(
                            "{driver_name}, {}, {}: {scheme} {got}; BBR {bbr}\n",
                            place.name, feed.name
                        );
                    }
                }
                cells.push(format!("{}; {}", by_feed[at][0], by_feed[at][1]));
            }
            page += &format!("| {} | {} |\n", feed.name, cells.join(" | "));
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evidence/natcp/wrong-feeds.md");
    if std::env::var_os("CELLCC_WRITE_DOCS").is_some() {
        std::fs::write(path, &page).expect("written");
    }
    assert!(too_little.is_empty(), "{too_little}");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(written, page, "set CELLCC_WRITE_DOCS=1 to write the page");
}

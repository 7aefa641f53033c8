//! Feeds that are wrong from the beginning, as a base station's, an adapter's or a configuration's fault makes them: what NATCP and
//! NACubic get with each, beside BBR, which hears of none. One table for every driver.

use cellcc_experiment::{Driver, NetAssist, Plan, PlanFile};
use cellcc_units::{QueueLimit, Ratio, Span};
use std::fmt::{self, Display, Formatter};

/// A feed, right or wrong.
pub(crate) struct Feed {
    pub(crate) name: &'static str,
    change: fn(&mut NetAssist),
}

pub(crate) const FEEDS: [Feed; 12] = [
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

/// A path.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    trace: &'static str,
    change: fn(&mut PlanFile),
}

/// The last is the kind that was found live: packets wait up to 20 ms for the uplink, and the base station knows of 10 ms.
pub(crate) const PLACES: [Place; 6] = [
    Place { name: "12 Mbit/s", trace: "rate=12Mbit/s", change: |_| () },
    Place { name: "lte-drive", trace: "lte-drive", change: |_| () },
    Place { name: "lte-static", trace: "lte-static", change: |_| () },
    Place { name: "4g long", trace: "lte-drive", change: |file| file.path.rtt = Span::from_millis(80) },
    Place { name: "3g", trace: "3g", change: |_| () },
    Place {
        name: "6 Mbit/s, radio",
        trace: "rate=6Mbit/s",
        change: |file| {
            file.path.rtt = Span::from_millis(10);
            file.path.jitter = Span::from_millis(10);
            file.path.reverse.access = Some("request=20ms".parse().expect("an uplink's access"));
        },
    },
];

/// What one flow got.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Got {
    pub(crate) mbit_s: f64,
    pub(crate) rtt_ms: f64,
}

impl Display for Got {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}, {:.0}", self.mbit_s, self.rtt_ms)
    }
}

/// What flows of these schemes get in one place with one feed.
pub(crate) fn got(
    driver: &dyn Driver,
    schemes: &[&str],
    place: &Place,
    feed: &Feed,
    duration: Span,
) -> Vec<Got> {
    let mut file = PlanFile {
        schemes: schemes.iter().map(|scheme| scheme.to_string()).collect(),
        traces: vec![place.trace.into()],
        duration,
        ..PlanFile::default()
    };
    file.path.rtt = Span::from_millis(20);
    file.path.queue = QueueLimit::Packets(100).into();
    (place.change)(&mut file);
    (feed.change)(&mut file.netassist);
    let plan = Plan::new(&file, driver, "wrong feeds").expect("the plan is sound");
    let runs = plan.runs.iter().filter(|run| !run.scenario.flows.is_empty());
    runs.map(|run| {
        let total = driver.run(&run.scenario).expect("the run succeeds").total;
        Got { mbit_s: total.throughput_mbit_s, rtt_ms: total.rtt_mean_ms.unwrap_or(f64::NAN) }
    })
    .collect()
}

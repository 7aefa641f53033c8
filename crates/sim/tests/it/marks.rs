//! A scheme's information on marks and losses on its path.

use cellcc_control::{Ack, Context, Controller, Ecn, EcnEcho, Event, Limits, Loss, Observer, SchemeInfo};
use cellcc_experiment::{Driver, Plan, PlanFile, Record};
use cellcc_sim::SimDriver;
use cellcc_units::{Bytes, Ratio, Span, Time};

/// A fixed window of twice the path's bandwidth-delay product that shows the echoes it receives; its packets carry `ecn`.
fn listener(name: &'static str, ecn: Ecn) -> SchemeInfo {
    SchemeInfo::new(name, "a fixed window that shows marks and losses", "this test", move |_, context| {
        Box::new(Listener::new(context, ecn))
    })
}

struct Listener {
    ecn: Ecn,
    window: Bytes,
    acknowledged: Bytes,
    echo: EcnEcho,
    lost: Bytes,
    episodes: u32,
    /// From the last rate sample.
    lost_share: f64,
    marked_share: f64,
}

impl Listener {
    fn new(context: &Context, ecn: Ecn) -> Self {
        Self {
            ecn,
            window: context.packet * 40,
            acknowledged: Bytes::ZERO,
            echo: EcnEcho::default(),
            lost: Bytes::ZERO,
            episodes: 0,
            lost_share: 0.0,
            marked_share: 0.0,
        }
    }
}

impl Controller for Listener {
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let echo = ack.ecn.expect("the simulator knows");
        self.acknowledged += ack.bytes;
        self.echo.ect0 += echo.ect0;
        self.echo.ect1 += echo.ect1;
        self.echo.ce += echo.ce;
        if let Some(rate) = ack.rate {
            self.marked_share = rate.marked.as_f64() / rate.delivered.as_f64();
            self.lost_share = rate.lost.as_f64() / (rate.lost + rate.delivered).as_f64();
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.lost = loss.lost;
    }

    fn on_event(&mut self, _now: Time, event: Event) {
        self.episodes += u32::from(event == Event::CongestionMarked);
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.window)
    }

    fn observe(&self, observer: &mut dyn Observer) {
        for (name, bytes) in [
            ("acknowledged", self.acknowledged),
            ("ect0", self.echo.ect0),
            ("ect1", self.echo.ect1),
            ("ce", self.echo.ce),
            ("lost", self.lost),
        ] {
            observer.value(name, "pkt", bytes.in_packets(Bytes::new(1500)));
        }
        observer.value("episodes", "", f64::from(self.episodes));
        observer.value("marked_share", "", self.marked_share);
        observer.value("lost_share", "", self.lost_share);
    }
}

/// Five seconds at 12 Mbit/s and 20 ms: 20 packets on the path, 20 in the queue, which take 20 ms.
fn run(scheme: &str, change: impl FnOnce(&mut PlanFile)) -> Record {
    let mut registry = cellcc_schemes::registry();
    registry.register(listener("listener", Ecn::Ect0));
    registry.register(listener("deaf", Ecn::NotEct));
    let driver = SimDriver::new(registry);
    let mut file = PlanFile {
        schemes: vec![scheme.into()],
        traces: vec!["rate=12Mbit/s".into()],
        duration: Span::from_secs(5),
        ..PlanFile::default()
    };
    file.path.rtt = Span::from_millis(20);
    change(&mut file);
    let plan = Plan::new(&file, &driver, "test").expect("the test's plan is sound");
    driver.run(&plan.runs[1].scenario).expect("the run succeeds")
}

fn with_queue(scheme: &str, queue: &str) -> Record {
    run(scheme, |file| file.path.queue = queue.parse().expect("a queue"))
}

/// The flow's values of `name` at the end of each bin.
fn column(record: &Record, name: &str) -> Vec<f64> {
    let values = record.series.column(&format!("flow0.{name}")).unwrap_or_else(|| panic!("no column {name}"));
    values.iter().map(|value| f64::from(*value)).collect()
}

fn last(record: &Record, name: &str) -> f64 {
    *column(record, name).last().expect("bins")
}

#[test]
fn a_queue_beyond_the_threshold_marks_every_packet_and_the_scheme_hears_of_each() {
    let record = with_queue("listener", "droptail(unlimited, mark=5ms)");
    // The queue grows with the first window: by then the first packets had waited for less than the threshold.
    let unmarked = last(&record, "ect0_pkt");
    assert!((1.0..=6.0).contains(&unmarked), "{unmarked} packets before the queue had grown");
    assert_eq!(last(&record, "ce_pkt") + unmarked, last(&record, "acknowledged_pkt"));
    assert_eq!((last(&record, "ect1_pkt"), last(&record, "lost_pkt")), (0.0, 0.0));
    assert_eq!(last(&record, "marked_share"), 1.0, "of every rate sample from the second round on");
    // One each round of 40 ms.
    let episodes = last(&record, "episodes");
    assert!((120.0..=126.0).contains(&episodes), "{episodes}");
}

#[test]
fn a_queue_below_the_threshold_marks_nothing() {
    // The 40 packets of the first window leave at once: the last of them waits for 39 ms.
    let record = with_queue("listener", "droptail(unlimited, mark=40ms)");
    assert_eq!(last(&record, "ect0_pkt"), last(&record, "acknowledged_pkt"));
    assert_eq!((last(&record, "ce_pkt"), last(&record, "episodes")), (0.0, 0.0));
}

#[test]
fn packets_that_do_not_say_that_they_can_be_marked_are_not() {
    let record = with_queue("deaf", "droptail(unlimited, mark=5ms)");
    let echoed = ["ect0_pkt", "ect1_pkt", "ce_pkt"].map(|name| last(&record, name));
    assert_eq!(echoed, [0.0; 3]);
    assert!(last(&record, "acknowledged_pkt") > 4000.0);
}

#[test]
fn rate_samples_count_the_losses_of_their_round() {
    let record = run("listener", |file| file.path.loss = Ratio::new(0.1));
    // Losses in the last round are not known yet.
    let unknown = record.total.lost_packets as f64 - last(&record, "lost_pkt");
    assert!((0.0..=40.0).contains(&unknown), "{unknown} of {} losses", record.total.lost_packets);
    let shares = column(&record, "lost_share");
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    // 50 bins, each with the sample of some 40 packets: the mean's standard deviation is 0.7 %.
    assert!((0.08..=0.12).contains(&mean), "{mean}");
}

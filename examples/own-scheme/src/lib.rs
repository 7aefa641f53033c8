//! A scheme from outside the workspace: AIMD whose increase is a parameter, and whose slow start ends at the rate that its
//! receiver measures.
//!
//! ```text
//! on each ACK:    below ssthresh   window += acknowledged bytes                 (doubles per RTT)
//!                 else             window += gain * packet * acknowledged / window  (gain packets per RTT)
//! on a loss:      window *= 1/2, once per recovery episode; ssthresh = window
//! on feedback:    window > 4 * rate at the receiver * minimum RTT  ->  ssthresh = window
//! ```
//! Source: Chiu and Jain, "Analysis of the increase and decrease algorithms for congestion avoidance in computer
//! networks" (1989): additive increase with multiplicative decrease converges to fair shares.

use cellcc_control::{
    Ack, Arrival, Context, Controller, Feedback, Limits, Loss, Observer, Parameter, ReceiverComponent,
    SchemeInfo, ShownValue, Verdict, kind,
};
use cellcc_units::{Bytes, Rate, Span, Time};

const GAIN: Parameter<kind::Number> = Parameter::new(
    "gain",
    kind::Number(0.1, 100.0),
    1.0,
    "growth of the window per RTT, in packets",
    "RFC 5681, section 3.1: one packet per RTT",
);

/// The values that [`observe`](Controller::observe) exposes, for plots.
const SHOWS: [ShownValue; 2] = [
    ShownValue::number("receiver_rate_mbit_s", "the rate that the receiver measures"),
    ShownValue::number("ssthresh_packets", "slow-start threshold"),
];

/// The entry for `Registry::register`.
pub fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "own",
        "AIMD with a gain: that many packets more per RTT, half the window on loss",
        "Chiu and Jain 1989",
        |arguments, context| Box::new(Own::new(arguments.get(&GAIN), context)),
    )
    .parameters(vec![GAIN.into()])
    .shows(&SHOWS)
    .with_receiver(|_, _| Some(Box::new(RateMeter::default())))
}

/// The share of the window that is left after a loss (RFC 5681, section 3.1, equation 4).
const DECREASE: f64 = 0.5;
/// The smallest window, in packets (RFC 5681, section 3.1, equation 4).
const MIN_WINDOW_PACKETS: u64 = 2;

/// Slow start ends at a window of this many bandwidth-delay products (our choice). The window doubles while the receiver
/// measures, and again while its feedback travels: below four, slow start would end before the link is full.
const SLOW_START_BDPS: f64 = 4.0;
/// The receiver takes the rate over at least this time: several packets even on a slow link (our choice).
const RATE_SPAN: Span = Span::from_millis(50);

#[derive(Debug)]
struct Own {
    gain: f64,
    packet: Bytes,
    window: Bytes,
    ssthresh: Bytes,
    min_rtt: Option<Span>,
    receiver_rate: Option<Rate>,
}

impl Own {
    fn new(gain: f64, context: &Context) -> Self {
        Self {
            gain,
            packet: context.packet,
            window: context.initial_window,
            ssthresh: Bytes::MAX,
            min_rtt: None,
            receiver_rate: None,
        }
    }
}

impl Controller for Own {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet = ack.packet_size;
        self.min_rtt = Some(ack.rtt.min());
        // A window that is not filled was not tested, and does not grow (RFC 9002, section 7.8).
        if ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        self.window += if self.window < self.ssthresh {
            ack.bytes
        } else {
            self.packet.mul_f64(self.gain * ack.bytes.as_f64() / self.window.as_f64())
        };
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        if loss.new_episode {
            self.window = self.window.mul_f64(DECREASE).max(self.packet * MIN_WINDOW_PACKETS);
            self.ssthresh = self.window;
        }
    }

    fn on_feedback(&mut self, _now: Time, feedback: &Feedback, _sent: Bytes) -> Verdict {
        let Ok(bytes) = feedback.as_bytes().try_into() else { return Verdict::Malformed };
        let rate = Rate::from_bytes_per_sec(u64::from_be_bytes(bytes));
        self.receiver_rate = Some(rate);
        if let Some(min_rtt) = self.min_rtt
            && self.window > rate.bytes_in(min_rtt).mul_f64(SLOW_START_BDPS)
        {
            self.ssthresh = self.ssthresh.min(self.window);
        }
        Verdict::Taken
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.window)
    }

    fn observe(&self, observer: &mut dyn Observer) {
        if let Some(rate) = self.receiver_rate {
            observer.value("receiver_rate", "mbit_s", rate.as_mbit_per_sec());
        }
        if self.ssthresh < Bytes::MAX {
            observer.value("ssthresh", "packets", self.ssthresh.in_packets(self.packet));
        }
    }
}

/// The receiver-side component: measures the rate at which packets arrive, and sends it with every acknowledgement, in
/// bytes per second, as eight bytes.
#[derive(Debug, Default)]
struct RateMeter {
    /// The begin of the interval, and the arrivals since.
    interval: Option<(Time, Bytes)>,
    rate: Option<Rate>,
}

impl ReceiverComponent for RateMeter {
    fn on_packet(&mut self, arrival: &Arrival) {
        let (began, bytes) = match self.interval {
            // The packet that begins an interval was sent before it.
            None => (arrival.now, Bytes::ZERO),
            Some((began, bytes)) => (began, bytes + arrival.bytes),
        };
        let elapsed = arrival.now.since(began);
        self.interval = Some((began, bytes));
        if elapsed >= RATE_SPAN {
            self.rate = Some(Rate::from_transfer(bytes, elapsed));
            self.interval = Some((arrival.now, Bytes::ZERO));
        }
    }

    fn feedback(&mut self, _now: Time) -> Option<Feedback> {
        Feedback::new(&self.rate?.as_bytes_per_sec().to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_control::{Flow, Registry, SchemeError};
    use cellcc_experiment::{Driver, Plan, PlanFile};
    use cellcc_sim::SimDriver;

    const CONTEXT: Context = Context::new(Bytes::new(1500), Bytes::new(15_000), 1);

    fn registry() -> Registry {
        let mut registry = cellcc_schemes::registry();
        registry.register(scheme());
        registry
    }

    fn window(flow: &Flow) -> f64 {
        flow.limits().window.in_packets(CONTEXT.packet)
    }

    /// Fills the window, and has every packet acknowledged one RTT later; or the first one lost.
    fn round(flow: &mut Flow, at: Time, lose_first: bool) -> Time {
        let count = window(flow) as usize;
        let packets: Vec<_> = (0..count).map(|_| flow.on_sent(at, CONTEXT.packet)).collect();
        flow.mark_window_limited();
        let rtt = Span::from_millis(20);
        if lose_first {
            flow.on_loss(at + rtt, &packets[..1]);
        }
        for packet in &packets[usize::from(lose_first)..] {
            flow.on_ack(at + rtt, std::slice::from_ref(packet), Some(rtt), None);
        }
        at + rtt
    }

    #[test]
    fn it_is_listed_next_to_the_built_in_schemes() {
        let count = cellcc_schemes::registry().schemes().len();
        assert_eq!(registry().schemes().len(), count + 1);
        assert_eq!(registry().parse("own").unwrap().info().source, scheme().source);
    }

    #[test]
    fn the_gain_is_packets_per_rtt_after_a_loss() {
        let scheme = registry().parse("own( gain = 2 )").unwrap();
        assert_eq!(scheme.text(), "own(gain=2)");
        let mut flow = Flow::new(scheme.build(&CONTEXT), CONTEXT.packet);
        let mut now = round(&mut flow, Time::ZERO, false);
        assert_eq!(window(&flow), 20.0, "slow start doubles");
        now = round(&mut flow, now + Span::from_millis(1), true);
        assert_eq!(window(&flow), 10.0, "a loss halves");
        // Acknowledgements within the round already see the grown window: a little less than the gain.
        round(&mut flow, now + Span::from_millis(1), false);
        assert!((11.7..=12.0).contains(&window(&flow)), "{}", window(&flow));
    }

    #[test]
    fn feedback_that_is_no_rate_is_refused() {
        let mut own = Own::new(1.0, &CONTEXT);
        let feedback = Feedback::new(b"fast").expect("short");
        assert_eq!(own.on_feedback(Time::ZERO, &feedback, Bytes::ZERO), Verdict::Malformed);
    }

    #[test]
    fn in_the_simulator_the_receiver_tells_the_links_rate_and_slow_start_ends_without_a_loss() {
        let driver = SimDriver::new(registry());
        let mut file = PlanFile {
            schemes: vec!["own".into()],
            traces: vec!["rate=24Mbit/s".into()],
            duration: Span::from_secs(2),
            ..PlanFile::default()
        };
        file.path.rtt = Span::from_millis(50);
        let plan = Plan::new(&file, &driver, "test").expect("the test's plan is sound");
        let record = driver.run(&plan.runs[1].scenario).expect("the run succeeds");
        let last = |name| *record.series.column(name).expect("shown").last().expect("bins");
        let rate = last("flow0.receiver_rate_mbit_s");
        assert!((23.0..=25.0).contains(&rate), "{rate} Mbit/s");
        assert_eq!(record.total.lost_packets, 0);
        // 100 packets per RTT: four of those, and less than the next feedback lets slow start add.
        let ssthresh = last("flow0.ssthresh_packets");
        assert!((400.0..=500.0).contains(&ssthresh), "{ssthresh} packets");
    }

    #[test]
    fn a_gain_out_of_range_is_refused() {
        for text in ["own(gain=0)", "own(gain=101)", "own(gain=NaN)", "own(gain=2pkt)"] {
            let error = registry().parse(text).unwrap_err();
            assert!(
                matches!(&error, SchemeError::BadValue { scheme, key, .. } if scheme == "own" && key == "gain"),
                "{text}: {error}"
            );
        }
    }
}

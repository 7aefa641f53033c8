//! A scheme from outside the workspace: AIMD whose increase is a parameter.
//!
//! ```text
//! on each ACK:    below ssthresh   window += acknowledged bytes                 (doubles per RTT)
//!                 else             window += gain * packet * acknowledged / window  (gain packets per RTT)
//! on a loss:      window *= 1/2, once per recovery episode; ssthresh = window
//! ```
//! Source: Chiu and Jain, "Analysis of the increase and decrease algorithms for congestion avoidance in computer
//! networks" (1989): additive increase with multiplicative decrease converges to fair shares.

use cellcc_control::{Ack, Context, Controller, Limits, Loss, Needs, Observer, Parameter, SchemeInfo, kind};
use cellcc_units::Bytes;
use std::sync::Arc;

const GAIN: Parameter<kind::Number> = Parameter::new(
    "gain",
    kind::Number(0.1, 100.0),
    1.0,
    "packets by which the window grows per RTT",
    "RFC 5681, section 3.1: one packet per RTT",
);

/// What `Registry::register` takes.
pub fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "own".into(),
        summary: "AIMD with a gain: that many packets more per RTT, half the window on loss".into(),
        source: "Chiu and Jain 1989".into(),
        parameters: vec![GAIN.into()],
        presets: Vec::new(),
        needs: Needs::NOTHING,
        build: Arc::new(|arguments, context| Box::new(Own::new(arguments.get(&GAIN), context))),
    }
}

/// The share of the window that is left after a loss (RFC 5681, section 3.1, equation 4).
const DECREASE: f64 = 0.5;
/// The smallest window, in packets (RFC 5681, section 3.1, equation 4).
const MIN_WINDOW_PACKETS: u64 = 2;

#[derive(Debug, Clone)]
struct Own {
    gain: f64,
    packet: Bytes,
    window: Bytes,
    ssthresh: Bytes,
}

impl Own {
    fn new(gain: f64, context: &Context) -> Self {
        Self { gain, packet: context.packet, window: context.initial_window, ssthresh: Bytes::MAX }
    }
}

impl Controller for Own {
    fn on_ack(&mut self, ack: &Ack<'_>) {
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

    fn limits(&self) -> Limits {
        Limits::window_only(self.window)
    }

    fn observe(&self, observer: &mut dyn Observer) {
        if self.ssthresh < Bytes::MAX {
            observer.value("ssthresh", "packets", self.ssthresh.in_packets(self.packet));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_control::{Flow, Registry, SchemeError};
    use cellcc_units::{Span, Time};

    const CONTEXT: Context =
        Context { packet: Bytes::new(1500), initial_window: Bytes::new(15_000), seed: 1 };

    fn registry() -> Registry {
        let mut registry = Registry::default();
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
            flow.on_loss(at + rtt, &packets[..1], false);
        }
        for packet in &packets[usize::from(lose_first)..] {
            flow.on_ack(at + rtt, std::slice::from_ref(packet), Some(rtt));
        }
        at + rtt
    }

    #[test]
    fn it_is_listed_beside_the_built_in_schemes() {
        let count = Registry::default().schemes().len();
        assert_eq!(registry().schemes().len(), count + 1);
        assert_eq!(registry().parse("own").unwrap().info().source, scheme().source);
    }

    #[test]
    fn the_gain_is_packets_per_rtt_after_a_loss() {
        let scheme = registry().parse("own( gain = 2 )").unwrap();
        assert_eq!(scheme.text(), "own(gain=2)");
        let mut flow = Flow::new(scheme.build(&CONTEXT));
        let mut now = round(&mut flow, Time::ZERO, false);
        assert_eq!(window(&flow), 20.0, "slow start doubles");
        now = round(&mut flow, now + Span::from_millis(1), true);
        assert_eq!(window(&flow), 10.0, "a loss halves");
        // Acknowledgements within the round already see the grown window: a little less than the gain.
        round(&mut flow, now + Span::from_millis(1), false);
        assert!((11.7..=12.0).contains(&window(&flow)), "{}", window(&flow));
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

//! ABBA: CUBIC whose window grows faster while RTTs show that the bottleneck has room.
//!
//! 1. Losses and marks cut the window as CUBIC does, and CUBIC's curve is the least that it grows by.
//! 2. A model of the path, made again at each congestion event, says which RTT the present window should have.
//! 3. While the RTT is shorter, the window grows by a share of itself in each round instead of by CUBIC's curve.
//! 4. Once the queue is there again, the window holds until CUBIC's curve has caught up.
//! 5. The revision decides how the path is modelled: by a [`line`] of RTT over window, or by the [`floor`] of RTTs.
//!
//! ```text
//!              loss                    RTT below the model
//!  slow start -----> CUBIC's avoidance -------------------> faster avoidance
//!      ^                   ^     |  ^---------------------------'    |
//!      '- - - - - - - - - -|- - -'        RTT at the model           |
//!   revision=floor: no queue for long      recovery <----------------' loss, mark
//! ```
//!
//! Source: draft-kazuho-ccwg-abba, September 2026, without its author's program. The working draft changed its law in that month,
//! and each file quotes its revision by the titles and numbers of sections. Nothing but the two texts was read.
//!
//! # Differences from the draft, and its open points
//!
//! - CUBIC is ours (RFC 9438, [`Cubic`]) without HyStart++, which the draft permits and does not ask for. The author's stack starts
//!   with Rapid Start and grows by Cuback, two more drafts.
//! - A time-out is a congestion event only where it begins a recovery episode; the draft names losses and marks alone.
//! - A spurious loss restores CUBIC and the model as they were before the event. The draft restores ABBA's state and leaves CUBIC's
//!   to RFC 9438, section 4.9, which does the same.
//! - It does not pace: neither text says anything about pacing.

mod floor;
mod line;

use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, Parameter, Rtt, SchemeInfo, ShownValue,
    growth::{Cubic, Growth, SlowStart},
    kind,
};
use cellcc_units::{Bytes, Span, Time};
use floor::Floor;
use line::Line;

/// Which text of the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Revision {
    Line,
    Floor,
}

const REVISION: Parameter<kind::Choice<Revision>> = Parameter::new(
    "revision",
    kind::Choice(&[("line", Revision::Line), ("floor", Revision::Floor)]),
    Revision::Line,
    "the model: `line`, the RTT as a line over the window; `floor`, the least RTTs and that of a full queue",
    "draft-kazuho-ccwg-abba: `floor` is the text of early September 2026, `line` replaced it",
);

const SHOWS: [ShownValue; 1] =
    [ShownValue::number("threshold_ms", "below this RTT the window grows faster than CUBIC's")];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "abba",
        "CUBIC that grows faster while RTTs show room, for radio paths and handovers",
        "draft-kazuho-ccwg-abba, September 2026",
        |arguments, context| match arguments.get(&REVISION) {
            Revision::Line => Box::new(Abba::<Line>::new(context)),
            Revision::Floor => Box::new(Abba::<Floor>::new(context)),
        },
    )
    .parameters(vec![REVISION.into()])
    .shows(&SHOWS)
    .shows(&cellcc_control::growth::SHOWS)
}

/// A revision of the draft: its observations of the path.
trait Model: Clone + Default + Send {
    /// An acknowledgement, after CUBIC has taken it.
    fn on_ack(&mut self, seen: &Seen<'_>) -> Pace;

    /// A congestion event, before CUBIC's cut. Returns the share of the window that stays instead of CUBIC's, where there is one.
    fn on_congestion(&mut self, event: &Congestion) -> Option<f64>;

    /// The recovery period has ended at this window. `srtt` is the one before the acknowledgement that ended it.
    fn on_recovered(&mut self, now: Time, window: Bytes, srtt: Span);

    /// The congestion event was spurious, and this is the model before it; `after` is the one that is given up.
    fn restore(&mut self, _after: &Self) {}

    /// The RTT below which the window grows faster.
    fn threshold(&self, window: Bytes, min_rtt: Span) -> Option<Span>;
}

/// An acknowledgement as the models see it.
struct Seen<'a> {
    now: Time,
    rtt: &'a Rtt,
    /// The acknowledgement's RTT sample.
    sample: Option<Span>,
    /// The window before it, and by CUBIC after it.
    window: Bytes,
    cubic: Bytes,
    ssthresh: Bytes,
    acked: Bytes,
    packet: Bytes,
    stage: Stage,
    cwnd_limited: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    SlowStart,
    Avoidance,
    Recovery,
}

/// A congestion event.
struct Congestion {
    now: Time,
    /// The window before the cut.
    window: Bytes,
    latest_rtt: Span,
    from_slow_start: bool,
    marked: bool,
}

/// The answer to an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Pace {
    /// CUBIC's window.
    Cubic,
    /// This window, if CUBIC's is smaller.
    Faster(Bytes),
    /// Slow start from the present window, without a threshold.
    SlowStart,
}

struct Abba<M> {
    context: Context,
    state: State<M>,
    /// The state that a spurious loss restores.
    saved: Option<State<M>>,
    /// As of the last acknowledgement.
    rtt: Rtt,
}

#[derive(Clone)]
struct State<M> {
    law: Cubic,
    model: M,
    in_recovery: bool,
}

impl<M: Model> Abba<M> {
    fn new(context: &Context) -> Self {
        Self {
            context: *context,
            state: State { law: law(context), model: M::default(), in_recovery: false },
            saved: None,
            rtt: Rtt::default(),
        }
    }

    /// A congestion event: CUBIC's `cut`, or the model's.
    fn congested(&mut self, now: Time, marked: bool, cut: impl FnOnce(&mut Cubic)) {
        self.saved = (!marked).then(|| self.state.clone());
        let State { law, model, in_recovery } = &mut self.state;
        let (window, from_slow_start) = (law.window(), law.in_slow_start());
        let latest_rtt = self.rtt.latest().unwrap_or(Rtt::INITIAL);
        let share = model.on_congestion(&Congestion { now, window, latest_rtt, from_slow_start, marked });
        *in_recovery = true;
        cut(law);
        if let Some(share) = share {
            let left = window.mul_f64(share).max(self.context.packet * MIN_WINDOW_PACKETS);
            *law = restarted(&self.context, left);
            law.set_ssthresh(left);
        }
    }
}

/// RFC 9002, section 7.2: the smallest window, in packets.
const MIN_WINDOW_PACKETS: u64 = 2;

fn law(context: &Context) -> Cubic {
    Cubic::new(context, SlowStart::UntilLoss)
}

/// CUBIC in slow start at this window, without `W_max`.
fn restarted(context: &Context, window: Bytes) -> Cubic {
    let mut law = law(context);
    law.set_window(window);
    law
}

impl<M: Model> Controller for Abba<M> {
    fn hears_departures(&self) -> bool {
        false
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.context.packet = ack.packet_size;
        let State { law, model, in_recovery } = &mut self.state;
        let window = law.window();
        if *in_recovery && !ack.in_recovery {
            *in_recovery = false;
            model.on_recovered(ack.now, window, self.rtt.smoothed());
        }
        let stage = match (ack.in_recovery, law.in_slow_start()) {
            (true, _) => Stage::Recovery,
            (false, true) => Stage::SlowStart,
            (false, false) => Stage::Avoidance,
        };
        let ssthresh = law.ssthresh();
        law.on_ack(ack);
        let pace = model.on_ack(&Seen {
            now: ack.now,
            rtt: ack.rtt,
            sample: ack.rtt_sample,
            window,
            cubic: law.window(),
            ssthresh,
            acked: ack.bytes,
            packet: ack.packet_size,
            stage,
            cwnd_limited: ack.cwnd_limited,
        });
        match pace {
            Pace::Faster(faster) if faster > law.window() => law.set_window(faster),
            Pace::Faster(_) | Pace::Cubic => {}
            Pace::SlowStart => *law = restarted(&self.context, law.window()),
        }
        self.rtt = *ack.rtt;
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.context.packet = loss.packet_size;
        if loss.new_episode {
            self.congested(loss.now, false, |law| law.on_loss(loss));
        } else {
            self.state.law.on_loss(loss);
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::CongestionMarked => self.congested(now, true, |law| law.on_event(now, event)),
            Event::SpuriousLoss => {
                if let Some(saved) = self.saved.take() {
                    let given_up = std::mem::replace(&mut self.state, saved);
                    self.state.model.restore(&given_up.model);
                    let window = self.state.law.window().max(given_up.law.window());
                    self.state.law.set_window(window);
                }
            }
            _ => self.state.law.on_event(now, event),
        }
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.state.law.window())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        let State { law, model, .. } = &self.state;
        if let Some(threshold) = model.threshold(law.window(), self.rtt.min()) {
            observer.value("threshold", "ms", threshold.as_millis_f64());
        }
        law.observe(observer);
    }
}

#[cfg(test)]
mod tests;

//! Conversations with prescribed acknowledgements, for cases that a path seldom produces: each constant of the law that
//! the paths do not determine changes one of them, and so does each product that has to stop at the largest number.

use super::conversation::{Conversation, Happens};
use super::path::SECOND;
use cellcc_fixed::tide::Event;
use cellcc_fixed::{Instant, Micros, Packets};

/// The base RTT of a flow with one acknowledgement per round, and the time between two acknowledgements.
const BASE: u32 = 400_000;
const ROUND: u64 = 500_000;

/// A flow with its delivery history, and the contents of its next acknowledgement.
struct Flow {
    conversation: Conversation,
    now: u64,
    delivered: Vec<(u64, u32)>,
    acked: u32,
    app_limited: u32,
    lost: u32,
}

impl Flow {
    fn new(delay_us: u32, packet_bytes: u32, acked: u32) -> Self {
        Self {
            conversation: Conversation::new(delay_us, packet_bytes),
            now: SECOND,
            delivered: vec![(0, 0)],
            acked,
            app_limited: 0,
            lost: 0,
        }
    }

    /// Adds `times` acknowledgements, each `every` microseconds after the one before.
    fn hears(&mut self, times: u32, every: u64, rtt: u32) {
        for _ in 0..times {
            self.now += every;
            if self.lost > 0 {
                self.conversation.add(Happens::Loss(self.lost, true));
            }
            let sent_at = self.now.saturating_sub(rtt.into());
            let at_send = self.delivered.iter().rfind(|(at, _)| *at <= sent_at).expect("the beginning").1;
            let delivered = self.delivered.last().expect("the beginning").1.wrapping_add(self.acked);
            self.delivered.push((self.now, delivered));
            self.conversation.add(Happens::Ack(Event {
                now: Instant(self.now),
                rtt: Micros(rtt),
                delivered: Packets(delivered),
                delivered_at_send: Packets(at_send),
                acked: Packets(self.acked),
                app_limited: self.app_limited,
                reserved: 0,
            }));
        }
    }

    /// Adds `times` rounds of one acknowledgement each, with a queue of `queueing` microseconds.
    fn rounds(&mut self, times: u32, queueing: u32) {
        self.hears(times, ROUND, BASE + queueing);
    }

    /// Adds a round before which `lost` packets were lost.
    fn round_with_loss(&mut self, lost: u32, queueing: u32) {
        self.rounds_with_loss(1, lost, queueing);
    }

    fn rounds_with_loss(&mut self, times: u32, lost: u32, queueing: u32) {
        self.lost = lost;
        self.rounds(times, queueing);
        self.lost = 0;
    }
}

/// `MIN_MARGIN`, `OTHERS_MARGIN`, `SAWTOOTH_ROUNDS`, `ROUNDS_BACK`, and both uses of `FORGOTTEN`.
pub(super) fn looks() -> Conversation {
    let mut flow = Flow::new(2_500, 1500, 50);
    flow.rounds(4, 0);
    // Too long, and then short for only three rounds: the next queue may hold the packets of eight flows.
    flow.rounds(1, 90_000);
    flow.rounds(3, 1_000);
    flow.rounds(1, 5_000);
    flow.rounds(27, 73_300);
    flow.rounds(1, 0);
    // Short for four rounds: a shorter queue is too long, for 15 s.
    flow.rounds(1, 90_000);
    flow.rounds(4, 1_000);
    flow.rounds(1, 3_000);
    flow.rounds(4, 1_000);
    flow.rounds(3, 0);
    flow.rounds(20, 24_000);
    flow.app_limited = 1;
    flow.rounds(1, 24_000);
    flow.app_limited = 0;
    flow.rounds(2, 24_000);
    flow.rounds(17, 74_000);
    flow.round_with_loss(1, 90_000);
    flow.rounds(9, 90_000);
    // The flow has looked. Three rounds suffice within 15 s, and not after 17.
    flow.rounds(28, 0);
    flow.rounds(12, 90_000);
    flow.rounds(31, 0);
    flow.rounds(4, 90_000);
    // The application holds the flow back, with an empty queue and a full one.
    flow.rounds(2, 0);
    (flow.acked, flow.app_limited) = (5, 1);
    flow.rounds(2, 0);
    flow.rounds(2, 100_000);
    flow.conversation
}

/// `RATE_STAYS`, `PEAK_DECAY`, `LOSS_THRESHOLD`, the smallest RTT of a longer path, and a window beyond 64 bits.
pub(super) fn longer_by_the_round() -> Conversation {
    let mut flow = Flow::new(2_500, 1500, 1_000);
    flow.rounds(6, 0);
    flow.rounds(1, 95_000);
    flow.rounds(20, 99_000);
    // The rate grows by 5.3 % per round, which is an answer, and then by 4.7 %.
    for growth in [[53; 7].as_slice(), &[47; 4]].concat() {
        flow.acked += flow.acked * growth / 1_000;
        flow.rounds(1, 90_000);
    }
    flow.rounds(1, 0);
    flow.rounds(2, 3_000);
    flow.acked = 1_000;
    flow.round_with_loss(29, 0);
    flow.rounds(1, 3_000);
    flow.rounds(2, 100_000);
    // The peak rate falls until a queue that was too long may be that of other flows of this scheme.
    flow.acked = 50;
    flow.rounds(1, 0);
    flow.rounds(9, 3_000);
    flow.rounds(8, 12_850);
    flow.rounds(23, 50_000);
    flow.acked = u32::MAX;
    flow.rounds(1, 50_000);
    flow.acked = 50;
    flow.rounds(1, 50_000);
    flow.conversation
}

/// `FORGETS`, the least step, and a queue that moves after one by the delay, or falls below it.
pub(super) fn steps() -> Conversation {
    let mut flow = Flow::new(2_500, 1500, 50);
    flow.rounds(6, 0);
    flow.rounds(2, 60_000);
    // 60 ms have faded to 41 ms, and a step leads to 114 ms at least.
    flow.rounds(100, 0);
    flow.rounds(14, 121_000);
    flow.rounds(2, 123_400);
    flow.rounds(2, 121_000);
    // These have faded to 77 ms only: no step.
    flow.rounds(120, 0);
    flow.rounds(17, 118_000);
    // Steps whose queue grows by more than the delay, and falls below the least step.
    flow.rounds(60, 0);
    flow.rounds(2, 170_000);
    flow.rounds(14, 172_600);
    flow.rounds(60, 0);
    flow.rounds(2, 211_500);
    flow.rounds(15, 209_800);
    flow.rounds(4, 0);
    flow.conversation
}

/// `MIN_SAMPLES`, the cap of a pause, a nearly empty queue, `MAX_TARGET`, the largest pacing rate (large packets).
pub(super) fn drains() -> Conversation {
    let mut flow = Flow::new(20_000, 9000, 50);
    let (short, long, every) = (800_000, 840_000, 840_000);
    flow.hears(2, every, short);
    flow.hears(18, every, long);
    flow.hears(6, every, short);
    flow.hears(10, every, long);
    // The link pauses for 9 s, but only one RTT of that counts.
    flow.hears(1, 9 * SECOND, 9_400_000);
    flow.hears(8, every, long);
    flow.hears(2, every, short);
    for _ in 0..16 {
        flow.hears(1, 200_000, 880_000);
        flow.hears(1, 200_000, short);
    }
    // Just nearly empty, and just not.
    flow.hears(6, every, short);
    flow.hears(8, every, long);
    flow.hears(1, every, short + 1_900);
    flow.hears(14, every, long);
    flow.hears(8, every, short);
    flow.hears(7, every, long);
    flow.hears(1, every, short + 2_100);
    flow.hears(7, every, long);
    flow.acked = 1 << 29;
    flow.hears(12, 500, 400);
    flow.conversation
}

/// `FIRST_DOUBTS`, `DRAIN_EVERY` for losses, `LOSS_THRESHOLD` above random loss, twice `LOSS_CORRECTED`, the half.
pub(super) fn losses() -> Conversation {
    let mut flow = Flow::new(5_000, 1500, 1_000);
    flow.rounds(20, 0);
    // The first drain comes after eight rounds of a full queue, and loses less than half as much.
    flow.rounds_with_loss(11, 60, 0);
    flow.round_with_loss(26, 0);
    // After the application had nothing to send, the next one comes as soon; half as much explains the losses.
    flow.rounds_with_loss(3, 60, 0);
    flow.app_limited = 1;
    flow.round_with_loss(60, 0);
    flow.app_limited = 0;
    flow.rounds_with_loss(8, 60, 0);
    flow.round_with_loss(29, 0);
    flow.rounds_with_loss(4, 50, 0);
    // Half of the target is an empty queue, and other flows cause a little more.
    flow.rounds_with_loss(12, 120, 0);
    flow.round_with_loss(60, 2_450);
    flow.rounds_with_loss(18, 160, 0);
    flow.round_with_loss(80, 2_650);
    flow.rounds_with_loss(9, 160, 0);
    flow.round_with_loss(80, 0);
    // More than 3 % above the random losses is a full queue again.
    flow.rounds_with_loss(4, 50, 0);
    for lost in [80, 84, 88, 90, 92, 94, 96, 98, 100, 102] {
        flow.rounds_with_loss(3, lost, 0);
    }
    // The losses end, and the next drains forget them.
    flow.rounds(28, 0);
    flow.rounds_with_loss(20, 83, 0);
    flow.rounds(70, 0);
    // A fifth is lost at random; at most 0.12 counts as random.
    flow.rounds_with_loss(80, 250, 0);
    for lost in [150, 160, 170, 180, 190] {
        flow.rounds_with_loss(3, lost, 0);
    }
    flow.conversation
}

/// Packets per acknowledgement at four per round, for a flow with a window of about 457 packets.
const SMALL: [u32; 2] = [56, 60];

/// `LONG_PAUSE` as the silence after which the path may have changed, and the path that an idle flow forgets.
pub(super) fn silences() -> Conversation {
    let (base, longer, gap) = (100_000, 120_000, 10_000);
    let mut flow = Flow::new(5_000, 1500, 20);
    let hears = |flow: &mut Flow, times, rtt: u32| flow.hears(times, u64::from(rtt) + gap, rtt);
    hears(&mut flow, 25, base);
    flow.hears(1, 950_000, longer);
    hears(&mut flow, 15, longer);
    hears(&mut flow, 25, base);
    flow.hears(1, 1_050_000, longer);
    hears(&mut flow, 15, longer);
    flow.app_limited = 1;
    hears(&mut flow, 2, longer);
    flow.hears(1, 2_000_000, 2_040_000);
    hears(&mut flow, 20, longer);
    flow.hears(1, 2_000_000, 160_000);
    flow.app_limited = 0;
    hears(&mut flow, 4, 160_000);
    // The application leaves just over half of the window unused, then just under: only the first shows a longer path.
    for acked in SMALL {
        (flow.acked, flow.app_limited) = (50, 0);
        flow.hears(80, 42_500, 160_000);
        (flow.acked, flow.app_limited) = (acked, 1);
        flow.hears(60, 42_500, 163_000);
    }
    flow.conversation
}

/// RTTs near 2^32 microseconds, rates above 2^48, and a delay above `MAX_TARGET`.
pub(super) fn extremes() -> Conversation {
    const HALF: u32 = 1 << 31;
    let mut flow = Flow::new(1_000_000, 1500, HALF);
    flow.hears(4, 1 << 30, u32::MAX - 1_000);
    flow.acked = u32::MAX;
    flow.hears(1, 1 << 29, HALF);
    // The queue has not been empty for more than 2^32 microseconds when there are enough samples for a drain.
    flow.acked = HALF - 1;
    flow.hears(4, 1 << 30, u32::MAX - 1);
    flow.acked = 1;
    flow.hears(12, 1, u32::MAX - 1);
    flow.acked = u32::MAX;
    flow.hears(6, 1 << 29, HALF);
    flow.acked = 1 << 29;
    flow.hears(12, 500, 400);
    flow.conversation
}

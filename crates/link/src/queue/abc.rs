//! ABC's router: tells senders to accelerate or to brake, so that the arrivals an RTT later match the link's rate.
//!
//! A packet that leaves as it came (ECT) means "accelerate": send two for it. One that leaves marked (CE) means "brake": send none.
//! So a share of one half keeps the rate. The share that is to accelerate follows from the link's rate, the departure rate, and
//! the wait, and a token bucket gives just that share.
//!
//! Source: Goyal et al., NSDI 2020, equations 1 and 2 and Algorithm 1; the authors' `cellular_packet_queue.cc` for the window
//! of both rates, the bucket's size and the default of the wait that is allowed.
//!
//! The authors' code has the rate of departures where equation 1 has the link's, and adds 0.49 tokens for each opportunity that is
//! not used. In sum that equals the equation. Here it is the equation's, because a rate has no opportunities. Otherwise
//! than there, amounts are in bytes, and rates are counted over exactly 20 ms.

use super::fifo::{Fifo, FifoDiscipline};
use super::text::{Part, part, part_in};
use super::{Backlog, Discipline, QueuedPacket};
use crate::capacity::Capacity;
use crate::packet::Packet;
use cellcc_units::{Bytes, QueueLimit, Ratio, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// Both rates are counted over so long (`cellular_packet_queue.cc`).
const WINDOW: Span = Span::from_millis(20);
/// Tokens that the bucket holds, and has at first (`credits`).
const MOST_TOKENS: f64 = 5.0;

/// The settings of ABC's router (Goyal et al., NSDI 2020).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Abc {
    /// A queueing delay up to which the queue need not shrink (d_t).
    pub target: Span,
    /// The share of the link's rate that is aimed at (eta).
    pub eta: Ratio,
    /// How long a queue beyond `target` takes to drain (delta).
    pub delta: Span,
    /// Limit of the queue; drop-tail beyond it.
    pub limit: QueueLimit,
}

impl Abc {
    /// 50 ms (the authors' script `exp.sh`), 98 % and 133 ms (the evaluation of the paper; the script's beta of 75 % over 100
    /// ms), no limit.
    pub const DEFAULT: Self = Self {
        target: Span::from_millis(50),
        eta: Ratio::new(0.98),
        delta: Span::from_millis(133),
        limit: QueueLimit::Unlimited,
    };
}

impl Discipline for Abc {
    const NAME: &'static str = "abc";
    const BASES: &'static [(&'static str, Self)] = &[("", Self::DEFAULT)];
    const PARTS: &'static [Part<Self>] = &[
        part("target=50ms", |own| &mut own.target),
        part_in("eta=98%", "above 0%, up to 100%", |own| &mut own.eta, |_| true),
        part_in("delta=133ms", "", |own| &mut own.delta, |own| !own.delta.is_zero()),
        part("limit=250pkt", |own| &mut own.limit),
    ];
    type Waiting<P> = Fifo<P, AbcState>;

    fn limit_mut(&mut self) -> &mut QueueLimit {
        &mut self.limit
    }

    fn waiting<P: Packet>(self, capacity: &Arc<Capacity>, _: u64) -> Fifo<P, AbcState> {
        Fifo::new(AbcState::new(self, Arc::clone(capacity)))
    }
}

/// An ABC router.
#[derive(Debug, Clone)]
pub(crate) struct AbcState {
    settings: Abc,
    capacity: Arc<Capacity>,
    tokens: f64,
    /// The departures of the last [`WINDOW`], oldest first, and their sum.
    departures: VecDeque<(Time, Bytes)>,
    departed: Bytes,
}

impl AbcState {
    pub(crate) fn new(settings: Abc, capacity: Arc<Capacity>) -> Self {
        Self { settings, capacity, tokens: MOST_TOKENS, departures: VecDeque::new(), departed: Bytes::ZERO }
    }

    /// A packet of `size` leaves at `now`, of `queued` bytes that waited, its own included. True where it is to brake.
    /// `is_marked`: another router has marked it.
    pub(crate) fn brakes(&mut self, now: Time, size: Bytes, queued: Bytes, is_marked: bool) -> bool {
        let since = now - WINDOW.min(now.since(Time::ZERO));
        self.departures.push_back((now, size));
        self.departed += size;
        while let Some(&(at, size)) = self.departures.front()
            && at <= since
            && at < now
        {
            self.departures.pop_front();
            self.departed -= size;
        }
        let carried = self.capacity.bytes_between(since, now);
        self.tokens += self.share(carried.as_f64(), now.since(since).as_secs_f64(), queued.as_f64());
        let brakes = self.tokens <= 1.0;
        if !brakes && !is_marked {
            self.tokens -= 1.0;
        }
        self.tokens = self.tokens.min(MOST_TOKENS);
        brakes
    }

    /// The share of packets that are to accelerate: f, by equations 1 and 2. `carried`: the link's capacity in the last `seconds`.
    fn share(&self, carried: f64, seconds: f64, queued: f64) -> f64 {
        if carried == 0.0 {
            return 0.0;
        }
        let wait = queued * seconds / carried;
        let too_long = (wait - self.settings.target.as_secs_f64()).max(0.0);
        let target = carried * (self.settings.eta.get() - too_long / self.settings.delta.as_secs_f64());
        (target / (2.0 * self.departed.as_f64())).clamp(0.0, 1.0)
    }
}

impl<P: Packet> FifoDiscipline<P> for AbcState {
    fn next(&mut self, now: Time, backlog: &mut Backlog<P>) -> Option<QueuedPacket<P>> {
        let mut next = backlog.pop(now)?;
        let packet = &mut next.packet;
        let queued = backlog.bytes() + packet.size();
        if packet.is_ecn_capable() && self.brakes(now, packet.size(), queued, packet.is_marked()) {
            packet.mark_congestion();
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Rate;

    const PACKET: Bytes = Bytes::new(1500);

    fn abc(mbit: f64) -> AbcState {
        let capacity = Capacity::constant(Rate::from_mbit_per_sec(mbit)).unwrap();
        AbcState::new(Abc::DEFAULT, Arc::new(capacity))
    }

    /// The share of packets that accelerate where one leaves every millisecond and so many bytes wait, after the first second.
    fn share(mbit: f64, queued: u64) -> f64 {
        let mut abc = abc(mbit);
        let brakes: Vec<bool> = (1..=11_000)
            .map(|millis| {
                abc.brakes(Time::ZERO + Span::from_millis(millis), PACKET, Bytes::new(queued), false)
            })
            .collect();
        brakes[1000..].iter().filter(|&&brakes| !brakes).count() as f64 / 10_000.0
    }

    #[test]
    fn the_share_that_accelerates_is_the_equations() {
        let near =
            |share: f64, expected: f64| assert!((share - expected).abs() < 1e-3, "{share}, {expected}");
        // 12 Mbit/s leave, on a link of 12: half of 98 %.
        near(share(12.0, 1500), 0.49);
        // The link carries half as much again, or half.
        near(share(18.0, 1500), 0.735);
        near(share(6.0, 1500), 0.245);
        // More than twice: all of them.
        near(share(48.0, 1500), 1.0);
        // A wait of 50 ms is allowed; of 50 + 66.5 ms, half a packet in a hundred and 33 fewer.
        near(share(12.0, 50 * 1500), 0.49);
        near(share(12.0, 1500 * 1165 / 10), (0.98 - 0.5) / 2.0);
        near(share(12.0, 1500 * 400), 0.0);
    }

    #[test]
    fn the_bucket_holds_five_tokens_however_long_it_is_filled() {
        let mut abc = abc(12.0);
        abc.tokens = 3.0;
        (1..1000).for_each(|millis| {
            abc.brakes(Time::ZERO + Span::from_millis(40 * millis), PACKET, PACKET, true);
        });
        assert_eq!(abc.tokens, MOST_TOKENS);
    }

    #[test]
    fn nothing_accelerates_on_a_link_that_has_carried_nothing() {
        let steps = [(1000, 0.0), (1000, 12.0)];
        let steps = steps.map(|(ms, mbit)| (Span::from_millis(ms), Rate::from_mbit_per_sec(mbit)));
        let capacity = Arc::new(Capacity::from_steps(steps.to_vec()).unwrap());
        let mut abc = AbcState { tokens: 1.0, ..AbcState::new(Abc::DEFAULT, capacity) };
        assert!(abc.brakes(Time::ZERO + Span::from_millis(1000), PACKET, PACKET, false));
    }
}

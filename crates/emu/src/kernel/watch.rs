//! From the forwarding threads to the meter: taps take down what they see, a thread of its own measures it.
//!
//! A tap does nothing but to read headers and to append to a list that is emptied fifty times a second, so that the
//! threads that carry packets are not held up. What the two directions saw is put in the order of time before it is
//! measured: an acknowledgement must not come before the segment that it covers.

use super::conversation::{Conversation, Seen, delivery};
use super::packet::{self, TcpHeaders};
use crate::error::EmuError;
use crate::tap::{SegmentView, Tap};
use cellcc_link::Delivery;
use cellcc_units::{Span, Time};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The receiver of flow `index` listens at this port and as many above it.
pub(crate) const FIRST_PORT: u16 = 20_000;

/// How often the lists are emptied.
const EMPTIED_EVERY: Duration = Duration::from_millis(20);

/// Room in a list: at 170 000 packets a second, two events each, it is full after 200 ms, ten times the time in which it
/// is emptied.
const ROOM: usize = 1 << 16;

/// An event waits this long for others that happened before it: a forwarding thread that is later than this has spoilt
/// the run, and says so itself.
const PATIENCE: Span = Span::from_millis(100);

/// Something that happened to a flow.
#[derive(Debug, Clone, Copy)]
struct Event {
    at: Time,
    flow: u16,
    seen: Seen,
}

/// What one direction saw since the list was emptied last.
#[derive(Debug, Clone)]
struct List(Arc<Mutex<Vec<Event>>>);

impl List {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Vec::with_capacity(ROOM))))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that measures.
#[derive(Debug)]
pub(crate) struct Watch {
    lists: [List; 2],
    done: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Conversation>>,
}

impl Watch {
    /// Begins to measure `conversations`, one per flow.
    pub(crate) fn start(conversations: Vec<Conversation>) -> Result<Self, EmuError> {
        let lists = [List::new(), List::new()];
        let done = Arc::new(AtomicBool::new(false));
        let mut merger = Merger { pending: Vec::new(), conversations };
        let (theirs, finished) = (lists.clone(), Arc::clone(&done));
        let measure = move || {
            let mut spare = Vec::with_capacity(ROOM);
            loop {
                let last = finished.load(Ordering::Acquire);
                for list in &theirs {
                    std::mem::swap(&mut *list.lock(), &mut spare);
                    merger.pending.append(&mut spare);
                }
                merger.measure(if last { Span::ZERO } else { PATIENCE });
                if last {
                    return merger.conversations;
                }
                std::thread::sleep(EMPTIED_EVERY);
            }
        };
        let thread = std::thread::Builder::new().name("cellcc-meter".into()).spawn(measure);
        Ok(Self { lists, done, thread: thread.map_err(EmuError::system("start a thread"))? })
    }

    /// What looks on at the uplink and at the downlink.
    pub(crate) fn taps(&self) -> (Box<dyn Tap>, Box<dyn Tap>) {
        let [up, down] = self.lists.clone();
        (Box::new(AckTap(up)), Box::new(DataTap(down)))
    }

    /// Measures what is left, once no tap is used any more.
    pub(crate) fn finish(self) -> Vec<Conversation> {
        self.done.store(true, Ordering::Release);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Puts events in order.
struct Merger {
    pending: Vec<Event>,
    conversations: Vec<Conversation>,
}

impl Merger {
    /// Measures everything but what is newer than the newest by less than `patience`.
    fn measure(&mut self, patience: Span) {
        // Stable: of what happened at the same time, the order in which each tap saw it stays. Nearly sorted: cheap.
        self.pending.sort_by_key(|event| event.at);
        let Some(newest) = self.pending.last().map(|event| event.at) else { return };
        let due = self.pending.partition_point(|event| event.at + patience <= newest);
        for event in self.pending.drain(..due) {
            if let Some(conversation) = self.conversations.get_mut(usize::from(event.flow)) {
                conversation.on(event.at, &event.seen);
            }
        }
    }
}

/// Looks on at the data, on their way down.
struct DataTap(List);

impl DataTap {
    fn note(&self, at: Time, segment: &SegmentView<'_>, seen: impl FnOnce(u32, u32) -> Seen) {
        let Some(headers) = packet::parse(segment.headers) else { return };
        let Some(flow) = headers.destination_port.checked_sub(FIRST_PORT) else { return };
        // A packet that is no super-packet is all headers to the emulation, so its payload is what they leave of it.
        let payload = (segment.bytes.get() as usize).saturating_sub(headers.length) as u32;
        if payload > 0 {
            let sequence = headers.sequence.wrapping_add(segment.offset);
            self.0.lock().push(Event { at, flow, seen: seen(sequence, payload) });
        }
    }
}

impl Tap for DataTap {
    fn arrived(&mut self, at: Time, segment: &SegmentView<'_>) {
        if let Some(TcpHeaders { is_syn: true, destination_port, sequence, .. }) =
            packet::parse(segment.headers)
            && let Some(flow) = destination_port.checked_sub(FIRST_PORT)
        {
            let seen = Seen::Opened { data_from: sequence.wrapping_add(1) };
            self.0.lock().push(Event { at, flow, seen });
        }
        self.note(at, segment, |sequence, payload| Seen::Sent { sequence, payload });
    }

    fn dropped(&mut self, at: Time, segment: &SegmentView<'_>) {
        self.note(at, segment, |_, _| Seen::Lost);
    }

    fn delivered(&mut self, link: &Delivery<()>, segment: &SegmentView<'_>) {
        let delivery = delivery(segment.bytes, link);
        self.note(link.arrived_at, segment, |sequence, payload| Seen::Delivered {
            sequence,
            payload,
            delivery,
        });
    }
}

/// Looks on at the acknowledgements, on their way up.
struct AckTap(List);

impl Tap for AckTap {
    fn arrived(&mut self, _: Time, _: &SegmentView<'_>) {}

    fn dropped(&mut self, _: Time, _: &SegmentView<'_>) {}

    fn delivered(&mut self, link: &Delivery<()>, segment: &SegmentView<'_>) {
        let Some(headers) = packet::parse(segment.headers) else { return };
        let Some(flow) = headers.source_port.checked_sub(FIRST_PORT) else { return };
        if let Some(next) = headers.acknowledgement {
            let seen = Seen::Acknowledged { next, sacks: headers.sacks };
            self.0.lock().push(Event { at: link.arrived_at, flow, seen });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::conversation::tests::unseen;
    use crate::kernel::packet::tests::built;
    use cellcc_units::Bytes;

    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_segments_of_a_super_packet_are_measured_one_by_one_whatever_the_order_of_the_threads() {
        let watch = Watch::start(vec![unseen("bulk")]).unwrap();
        let (mut up, mut down) = watch.taps();
        let view = |headers, offset, payload| SegmentView {
            headers,
            offset,
            payload,
            bytes: Bytes::new(52 + u64::from(payload)),
        };
        let link = |sent, arrived| Delivery {
            packet: (),
            queued_at: at(sent),
            departed_at: at(sent + 1),
            arrived_at: at(arrived),
        };
        let (syn, data) = (built((9, FIRST_PORT), 99, 0, SYN, &[]), built((9, FIRST_PORT), 100, 0, ACK, &[]));
        let ack = built((FIRST_PORT, 9), 0, 2100, ACK, &[]);
        // The thread of the acknowledgements comes first, although they are later.
        up.delivered(&link(30, 40), &view(&ack, 0, 0));
        down.arrived(at(0), &view(&syn, 0, 0));
        for (offset, arrived) in [(0, 31), (1000, 32)] {
            down.arrived(at(20), &view(&data, offset, 1000));
            down.delivered(&link(20, arrived), &view(&data, offset, 1000));
        }
        // No super-packet: the view has all of it as headers.
        let single = [&built((9, FIRST_PORT), 2100, 0, ACK, &[])[..], &[0; 500]].concat();
        let single = SegmentView { headers: &single, offset: 0, payload: 0, bytes: Bytes::new(552) };
        down.arrived(at(21), &single);
        down.dropped(at(21), &single);
        let flow = watch.finish().remove(0);
        let metrics = flow.meter().metrics(Bytes::ZERO, Span::ZERO);
        assert_eq!((metrics.sent_packets, metrics.lost_packets, metrics.retransmitted_packets), (3, 1, 0));
        assert_eq!((metrics.rtt_mean_ms, flow.meter().delivered()), (Some(20.0), Bytes::new(2104)));
    }

    #[test]
    fn packets_of_others_are_not_measured() {
        let watch = Watch::start(vec![unseen("bulk")]).unwrap();
        let (_, mut down) = watch.taps();
        let headers = built((9, 80), 100, 0, ACK, &[]);
        let view = SegmentView { headers: &headers, offset: 0, payload: 1000, bytes: Bytes::new(1052) };
        down.arrived(at(1), &view);
        let others = built((9, FIRST_PORT + 1), 100, 0, ACK, &[]);
        down.arrived(at(1), &SegmentView { headers: &others, ..view });
        let metrics = watch.finish()[0].meter().metrics(Bytes::ZERO, Span::ZERO);
        assert_eq!(metrics.sent_packets, 0);
    }
}

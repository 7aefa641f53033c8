//! Carries events from the forwarding threads to the meters, which run in a thread of their own.
//!
//! A tap only reads headers and appends to a list, so that it does not hold up its forwarding thread. The measuring
//! thread empties the lists fifty times a second. It sorts the events of both directions by time before it measures:
//! an acknowledgement must not come before the segment that it covers.

use crate::error::EmuError;
use crate::tap::Tap;
use cellcc_units::{Span, Time};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The port of the first flow's receiver; each further flow has the next port.
pub(crate) const FIRST_PORT: u16 = 20_000;

/// The interval at which the lists are emptied.
const EMPTIED_EVERY: Duration = Duration::from_millis(20);

/// Room in a list: at 170 000 packets a second, two events each, it is full after 200 ms, ten times the time in which it
/// is emptied.
const ROOM: usize = 1 << 16;

/// An event waits this long for earlier events of the other direction. A forwarding thread that is later than this
/// has spoilt the run, and reports so itself.
const REORDER_DELAY: Span = Span::from_millis(100);

/// The port at which the receiver of flow `index` listens; none where there are too many flows.
pub(crate) fn port_of_flow(index: usize) -> Option<u16> {
    u16::try_from(index).ok().and_then(|index| FIRST_PORT.checked_add(index))
}

/// The flow whose receiver has this port.
pub(crate) fn flow_of_port(port: u16) -> Option<u16> {
    port.checked_sub(FIRST_PORT)
}

/// Measures a flow from its events.
pub(crate) trait Watched: Send + 'static {
    /// An event of a flow at a tap.
    type Seen: Copy + Send + 'static;

    /// The taps at the uplink and at the downlink, each with its list.
    fn taps(up: List<Self::Seen>, down: List<Self::Seen>) -> (Box<dyn Tap>, Box<dyn Tap>);

    /// Takes the next event. Events come in order of time.
    fn on(&mut self, now: Time, seen: &Self::Seen);
}

/// Something that happened to a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event<S> {
    pub(crate) at: Time,
    pub(crate) flow: u16,
    pub(crate) seen: S,
}

/// The events of one direction since the list was last emptied.
#[derive(Debug, Clone)]
pub(crate) struct List<S>(Arc<Mutex<Vec<Event<S>>>>);

impl<S> List<S> {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Vec::with_capacity(ROOM))))
    }

    /// Appends an event.
    pub(crate) fn push(&self, event: Event<S>) {
        self.lock().push(event);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event<S>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that measures.
#[derive(Debug)]
pub(crate) struct Watch<W: Watched> {
    lists: [List<W::Seen>; 2],
    done: Arc<AtomicBool>,
    thread: JoinHandle<Vec<W>>,
}

impl<W: Watched> Watch<W> {
    /// Begins to measure `flows`.
    pub(crate) fn start(flows: Vec<W>) -> Result<Self, EmuError> {
        let lists = [List::new(), List::new()];
        let done = Arc::new(AtomicBool::new(false));
        let mut merger = Merger { pending: Vec::new(), flows };
        let (theirs, finished) = (lists.clone(), Arc::clone(&done));
        let measure = move || {
            let mut spare = Vec::with_capacity(ROOM);
            loop {
                let last = finished.load(Ordering::Acquire);
                for list in &theirs {
                    std::mem::swap(&mut *list.lock(), &mut spare);
                    merger.pending.append(&mut spare);
                }
                merger.measure(if last { Span::ZERO } else { REORDER_DELAY });
                if last {
                    return merger.flows;
                }
                std::thread::sleep(EMPTIED_EVERY);
            }
        };
        let thread = std::thread::Builder::new().name("cellcc-meter".into()).spawn(measure);
        Ok(Self { lists, done, thread: thread.map_err(EmuError::system("start a thread"))? })
    }

    /// The taps at the uplink and at the downlink.
    pub(crate) fn taps(&self) -> (Box<dyn Tap>, Box<dyn Tap>) {
        let [up, down] = self.lists.clone();
        W::taps(up, down)
    }

    /// Measures the remaining events, once no tap is in use.
    pub(crate) fn finish(self) -> Vec<W> {
        self.done.store(true, Ordering::Release);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Puts events in order.
struct Merger<W: Watched> {
    pending: Vec<Event<W::Seen>>,
    flows: Vec<W>,
}

impl<W: Watched> Merger<W> {
    /// Measures all events but those of the last `delay` before the newest.
    fn measure(&mut self, delay: Span) {
        // A stable sort keeps each tap's order of events at the same time, and is cheap on nearly sorted input.
        self.pending.sort_by_key(|event| event.at);
        let Some(newest) = self.pending.last().map(|event| event.at) else { return };
        let due = self.pending.partition_point(|event| event.at + delay <= newest);
        for event in self.pending.drain(..due) {
            if let Some(flow) = self.flows.get_mut(usize::from(event.flow)) {
                flow.on(event.at, &event.seen);
            }
        }
    }
}

//! The cost of an acknowledgement, scheme by scheme.
//!
//! *The scheme by itself*: the events of one flow are recorded, and then replayed from memory: all it was
//! reported (packets that left, acknowledgements, losses, timers, advice), divided by the acknowledgements. *The whole run*:
//! endpoints, link, metrics and the components of schemes at the receiver too.

use crate::Outcome;
use cellcc_control::event_log::{EventLog, InMemory};
use cellcc_control::{Context, Scheme};
use cellcc_experiment::{Driver, Plan, PlanFile, Recordings, Resolved};
use cellcc_sim::SimDriver;
use cellcc_test_support::benchmark::{Median, ROUNDS, instructions, processor_time};
use cellcc_units::{QueueLimit, Span};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The baseline of the others: a window that never changes, and fills the link with 33 packets to spare.
const CONSTANT: &str = "fixed-window(window=200pkt)";
const LINK: &str = "rate=100Mbit/s";
const RTT: Span = Span::from_millis(20);
/// Twice the packets in flight on the path.
const QUEUE: QueueLimit = QueueLimit::Packets(333);
/// How long a run that is timed or recorded lasts: 42,000 acknowledgements on a full link.
const DURATION: Duration = Duration::from_secs(5);
/// How long two runs last in whose difference the start has no part.
const COUNTED_MS: [u64; 2] = [1000, 2000];
/// How often two programs replay events that they both record first.
const COUNTED_TIMES: [u32; 2] = [1, 2];

/// Every scheme with its defaults, the constant window first; the learned ones where CELLCC_MODELS names the folder of their files.
fn schemes() -> Vec<String> {
    let registry = cellcc_schemes::registry();
    let names = registry.schemes().iter().map(|info| info.name.to_string());
    let names = std::iter::once(CONSTANT.to_owned()).chain(names.filter(|name| name != "fixed-window"));
    let models = std::env::var("CELLCC_MODELS").ok();
    let learned = models.iter().flat_map(|folder| {
        ["orca", "indigo"].map(|name| format!("{name}(model={folder}/{name}.safetensors)"))
    });
    names.chain(learned).collect()
}

fn scenario(driver: &SimDriver, scheme: &str, duration: Duration) -> Outcome<Resolved> {
    let mut file = PlanFile {
        schemes: vec![scheme.into()],
        traces: vec![LINK.into()],
        duration: Span::from_nanos(duration.as_nanos() as u64),
        ..PlanFile::default()
    };
    file.path.rtt = RTT;
    file.path.queue = QUEUE.into();
    let plan = Plan::new(&file, driver, "speed")?;
    let run = plan.runs.into_iter().find(|run| !run.scenario.flows.is_empty());
    Ok(run.ok_or("no run has the flow")?.scenario)
}

/// Runs one flow, and returns how many acknowledgements its receiver sent.
fn acknowledged(driver: &SimDriver, scenario: &Resolved) -> Outcome<u64> {
    let sent = driver.run(scenario)?.total.sent_acks;
    sent.filter(|sent| *sent > 0).ok_or_else(|| "the receiver sent no acknowledgement".into())
}

/// A recorded flow.
struct Recorded {
    scheme: Scheme,
    context: Context,
    reported: InMemory,
}

impl Recorded {
    fn new(scheme: &str) -> Outcome<Self> {
        let memory = Memory::default();
        let destination = memory.clone();
        let recordings = Recordings::new(move |_, _| Box::new(destination.clone()));
        let driver = SimDriver::new(cellcc_experiment::registry()).with_recordings(recordings);
        driver.run(&scenario(&driver, scheme, DURATION)?)?;
        let log = EventLog::new(memory)?;
        let header = log.header();
        let (scheme, context) = (cellcc_experiment::registry().parse(&header.scheme)?, header.context);
        Ok(Self { scheme, context, reported: log.into_memory()? })
    }

    fn tell(&self) {
        self.reported.give_all(self.scheme.build(&self.context));
    }
}

/// A buffer whose written bytes can be read.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<std::collections::VecDeque<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Read for Memory {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(into)
    }
}

/// Nanoseconds of processor time for each of `count`.
fn nanos<T>(count: u64, act: impl FnOnce() -> T) -> f64 {
    let began = processor_time();
    std::hint::black_box(act());
    (processor_time() - began).as_nanos() as f64 / count as f64
}

/// The time of an acknowledgement of one scheme, round by round, in nanoseconds.
struct Times {
    by_itself: [f64; ROUNDS],
    whole: [f64; ROUNDS],
}

fn ratio(of: &[f64; ROUNDS], to: &[f64; ROUNDS]) -> Median {
    Median::of(std::array::from_fn(|round| of[round] / to[round]))
}

/// Measures, and prints a table.
pub(crate) fn print_times() -> Outcome<()> {
    let schemes = schemes();
    let recorded = schemes.iter().map(|scheme| Recorded::new(scheme)).collect::<Outcome<Vec<_>>>()?;
    let driver = SimDriver::new(cellcc_experiment::registry());
    let mut times: Vec<_> =
        schemes.iter().map(|_| Times { by_itself: [0.0; ROUNDS], whole: [0.0; ROUNDS] }).collect();
    for round in 0..ROUNDS {
        for ((scheme, recorded), times) in schemes.iter().zip(&recorded).zip(&mut times) {
            let scenario = scenario(&driver, scheme, DURATION)?;
            let began = processor_time();
            let count = acknowledged(&driver, &scenario)?;
            times.whole[round] = (processor_time() - began).as_nanos() as f64 / count as f64;
            times.by_itself[round] = nanos(recorded.reported.acknowledgements(), || recorded.tell());
        }
    }
    println!("ns of processor time for an acknowledgement, {LINK}, {RTT}, {ROUNDS} rounds in turns: median");
    println!("(98.8 % interval); and how many times that of {CONSTANT} the whole run takes");
    println!("{:28} {:26} {:29} times", "scheme", "the scheme by itself", "the whole run");
    for (scheme, Times { by_itself, whole }) in schemes.iter().zip(&times) {
        let [by_itself, whole_ns] = [by_itself, whole].map(|of| format!("{:.1}", Median::of(*of)));
        println!("{scheme:28} {by_itself:26} {whole_ns:29} {:.3}", ratio(whole, &times[0].whole));
    }
    let named = |name| schemes.iter().position(|scheme| scheme == name).map(|index| &times[index]);
    if let (Some(tide), Some(bbr)) = (named("tide"), named("bbr")) {
        let by_itself = ratio(&tide.by_itself, &bbr.by_itself);
        println!(
            "tide, times bbr: by itself {by_itself:.3}, the whole run {:.3}",
            ratio(&tide.whole, &bbr.whole)
        );
    }
    Ok(())
}

/// Replays its own events to a scheme `times` times, and prints how many acknowledgements that is once.
pub(crate) fn tell(scheme: &str, times: u32) -> Outcome<()> {
    let recorded = Recorded::new(scheme)?;
    (0..times).for_each(|_| recorded.tell());
    println!("{}", recorded.reported.acknowledgements());
    Ok(())
}

/// Runs a flow, and prints how many acknowledgements its receiver sent.
pub(crate) fn run(scheme: &str, duration: Duration) -> Outcome<()> {
    let driver = SimDriver::new(cellcc_experiment::registry());
    println!("{}", acknowledged(&driver, &scenario(&driver, scheme, duration)?)?);
    Ok(())
}

/// The instructions of this program with these arguments, and the number that it prints.
fn counted(arguments: &[&str]) -> Outcome<(f64, f64)> {
    let (instructions, printed) = instructions(arguments)?;
    Ok((instructions as f64, printed.trim().parse()?))
}

/// Counts, and prints a table.
pub(crate) fn print_instructions() -> Outcome<()> {
    println!(
        "instructions for an acknowledgement, {LINK}, {RTT}; and times those of {CONSTANT} in the whole run"
    );
    println!("{:28} {:>20} {:>14} {:>6}", "scheme", "the scheme by itself", "the whole run", "times");
    let mut constant = None;
    for scheme in schemes() {
        let [once, often] =
            COUNTED_TIMES.map(|times| counted(&["part", "tell", &scheme, &times.to_string()]));
        let (often, (once, acks)) = (often?.0, once?);
        let by_itself = (often - once) / f64::from(COUNTED_TIMES[1] - COUNTED_TIMES[0]) / acks;
        let [short, long] = COUNTED_MS.map(|ms| counted(&["part", "run", &scheme, &ms.to_string()]));
        let (short, long) = (short?, long?);
        let whole = (long.0 - short.0) / (long.1 - short.1);
        let times = whole / *constant.get_or_insert(whole);
        println!("{scheme:28} {by_itself:20.0} {whole:14.0} {times:6.3}");
    }
    Ok(())
}

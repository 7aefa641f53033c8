//! Ranges of what can be asked for. Whatever lies outside is a slip of the keyboard or would never end.

use crate::RequestError;
use cellcc_experiment::{Endpoint, NetAssist, Path, Plan, PlanFile};
use cellcc_link::{Delay, DropTail, Queue};
use cellcc_units::{Bytes, QueueLimit, Ratio, Span};
use std::fmt::Display;

/// A path's delays are at most this long: a hundred times a satellite's round trip.
const LONGEST_DELAY: Span = Span::from_secs(60);

/// Time series of a run hold at most this many bins: a day in bins of 100 ms.
const MOST_BINS: u64 = 1_000_000;

/// Checks every value that has a range, whether it came from a flag or from the file `name`, varied ones too.
///
/// # Errors
/// The value, its flag and its key in a Scenario, and what it takes.
pub(crate) fn check(file: &PlanFile, name: &str) -> Result<(), RequestError> {
    check_values(file).map_err(RequestError::new)?;
    for variation in file.variations().map_err(|error| RequestError::new(format!("{name}: {error}")))? {
        check_values(&variation.file)
            .map_err(|problem| RequestError::new(format!("{name}: [vary] {}: {problem}", variation.text)))?;
    }
    Ok(())
}

/// Checks a path whose flags are those of `cellcc shell`, whose files have been read. Other than a run of `compare` it may have no length, and may
/// lose everything.
///
/// # Errors
/// The value, its flag, and what it takes.
pub fn check_emulated(path: &Path) -> Result<(), RequestError> {
    let checks = || {
        let takes = "0s to 60s, such as 20ms";
        range("--rtt", "path.rtt", path.rtt, Span::ZERO, LONGEST_DELAY, takes)?;
        range("--jitter", "path.jitter", path.jitter, Span::ZERO, LONGEST_DELAY, takes)?;
        extra_delay(path)?;
        let by = path.reordered_by;
        range("--reordered-by", "path.reordered_by", by, Span::ZERO, LONGEST_DELAY, takes)?;
        for (flag, key, share) in [
            ("--loss", "path.loss", path.loss),
            ("--up-loss", "path.reverse.loss", path.reverse.loss),
            ("--reordered", "path.reordered", path.reordered),
        ] {
            range(flag, key, share, Ratio::ZERO, Ratio::ONE, "0% to 100%, such as 1%")?;
        }
        queue("--queue", "path.queue", path.queue)?;
        queue("--up-queue", "path.reverse.queue", path.reverse.queue)?;
        no_grain(path)?;
        [("--queue", path.queue), ("--up-queue", path.reverse.queue)].into_iter().try_for_each(no_ack_filter)
    };
    checks().map_err(RequestError::new)
}

fn check_values(file: &PlanFile) -> Result<(), String> {
    let (path, endpoint) = (&file.path, &file.endpoint);
    let above_zero = Span::from_nanos(1);
    let takes = "above 0s up to 60s, such as 20ms";
    range("--rtt", "path.rtt", path.rtt, above_zero, LONGEST_DELAY, takes)?;
    let day = Span::from_secs(86_400);
    range("--duration", "duration", file.duration, above_zero, day, "above 0s up to 24h, such as 60s")?;
    if file.warm_up >= file.duration {
        return Err(format!(
            "--warm-up {} leaves nothing of a run of {} (--duration) to measure; write a shorter one",
            file.warm_up, file.duration
        ));
    }
    let (least, most) = (Bytes::new(64), Bytes::new(65_000));
    range("--mss", "endpoint.mss", endpoint.mss, least, most, "64B to 65kB, such as 1448B")?;
    let most = Bytes::new(1_000);
    range("--header", "endpoint.header", endpoint.header, Bytes::ZERO, most, "0B to 1kB, such as 52B")?;
    range("--ack-every", "endpoint.ack_every", endpoint.ack_every, 1, 1_000, "1 to 1000")?;
    let (key, most) = ("endpoint.max_ack_delay", Span::from_secs(10));
    range("--max-ack-delay", key, endpoint.max_ack_delay, Span::ZERO, most, "0s to 10s, such as 25ms")?;
    one_way_to_acknowledge(endpoint)?;
    let (least, most) = (Span::from_millis(1), Span::from_secs(60));
    range(
        "--series-bin",
        "endpoint.series_bin",
        endpoint.series_bin,
        least,
        most,
        "1ms to 60s, such as 100ms",
    )?;
    if file.duration.as_nanos() / endpoint.series_bin.as_nanos() > MOST_BINS {
        return Err(format!(
            "--series-bin {} makes more than {MOST_BINS} bins of --duration {}; write a wider bin",
            endpoint.series_bin, file.duration
        ));
    }
    loss("--loss", "path.loss", path.loss)?;
    loss("--reverse-loss", "path.reverse.loss", path.reverse.loss)?;
    queue("--queue", "path.queue", path.queue)?;
    holds_a_packet("--queue", path.queue, endpoint.packet())?;
    queue("--reverse-queue", "path.reverse.queue", path.reverse.queue)?;
    holds_a_packet("--reverse-queue", path.reverse.queue, endpoint.header)?;
    let takes = "0s to 60s, such as 5ms";
    range("--jitter", "path.jitter", path.jitter, Span::ZERO, LONGEST_DELAY, takes)?;
    share("path.reordered", path.reordered)?;
    let takes = "0s to 60s, such as 10ms";
    only_in_file("path.reordered_by", path.reordered_by, Span::ZERO, LONGEST_DELAY, takes)?;
    only_in_file("path.grain", path.grain, Span::ZERO, Span::from_secs(1), "0s to 1s, such as 1ms")?;
    check_netassist(&file.netassist)
}

/// A policy says everything: beside it, counts and delays would be without effect.
fn one_way_to_acknowledge(endpoint: &Endpoint) -> Result<(), String> {
    let usual = Endpoint::default();
    let counts = endpoint.ack_every != usual.ack_every || endpoint.max_ack_delay != usual.max_ack_delay;
    match endpoint.acks {
        Some(policy) if counts => Err(format!(
            "--acks {policy} takes the place of --ack-every {} and --max-ack-delay {} (in a Scenario: endpoint.acks, ack_every, \
             max_ack_delay); leave either out",
            endpoint.ack_every, endpoint.max_ack_delay
        )),
        _ => Ok(()),
    }
}

/// The ranges of the schemes' own parameters, where those have the same names, since the simulator takes either.
fn check_netassist(asked: &NetAssist) -> Result<(), String> {
    let (least, most) = (Span::from_millis(1), Span::from_secs(60));
    only_in_file("netassist.period", asked.period, least, most, "1ms to 60s, such as 50ms")?;
    only_in_file("netassist.delay", asked.delay, Span::ZERO, Span::from_secs(10), "0s to 10s, such as 1ms")?;
    let foresight = asked.foresight.unwrap_or_default();
    for (key, span) in [
        ("netassist.late", asked.late),
        ("netassist.overtaken_by", asked.overtaken_by),
        ("netassist.foresight", foresight),
    ] {
        only_in_file(key, span, Span::ZERO, LONGEST_DELAY, "0s to 60s, such as 500ms")?;
    }
    let most = Ratio::new(100.0);
    only_in_file("netassist.scale", asked.scale, Ratio::ZERO, most, "0x to 100x, such as 2x")?;
    share("netassist.loss", asked.loss)?;
    share("netassist.duplicated", asked.duplicated)?;
    share("netassist.reordered", asked.reordered)
}

/// Delays beyond a minute are a slip of the keyboard. Checked once the files that say them have been read.
pub(crate) fn check_extra_delays(plan: &Plan) -> Result<(), RequestError> {
    plan.runs.iter().try_for_each(|run| extra_delay(&run.scenario.path)).map_err(RequestError::new)
}

fn extra_delay(path: &Path) -> Result<(), String> {
    let delay = Delay::with_extra(Span::ZERO, &path.extra_delay).map_err(|error| error.to_string())?;
    let takes = "at most 60s, such as 5ms@10s,20ms@5s";
    range("--extra-delay", "path.extra_delay", delay.max(), Span::ZERO, LONGEST_DELAY, takes)
}

/// A flow that would start after the end is one that the user waits for in vain.
pub(crate) fn check_starts(plan: &Plan) -> Result<(), RequestError> {
    for run in &plan.runs {
        let late =
            run.scenario.flows.iter().find(|flow| flow.start.as_nanos() >= run.scenario.duration.as_nanos());
        if let Some(flow) = late {
            return Err(RequestError::new(format!(
                "`{}`: the flow `{}` starts at {}, but the run lasts {}; write a longer --duration or an earlier start",
                run.scenario.row_name(),
                flow.scheme,
                flow.start,
                run.scenario.duration
            )));
        }
    }
    Ok(())
}

fn range<T: PartialOrd + Display>(
    flag: &str,
    key: &str,
    value: T,
    least: T,
    most: T,
    takes: &str,
) -> Result<(), String> {
    if value >= least && value <= most { Ok(()) } else { Err(outside(flag, key, value, takes)) }
}

/// A value that has no flag.
fn only_in_file<T: PartialOrd + Display>(
    key: &str,
    value: T,
    least: T,
    most: T,
    takes: &str,
) -> Result<(), String> {
    if value >= least && value <= most {
        Ok(())
    } else {
        Err(format!("{key} = {value} is out of range; write {takes}"))
    }
}

fn share(key: &str, share: Ratio) -> Result<(), String> {
    only_in_file(key, share, Ratio::ZERO, Ratio::ONE, "0% to 100%, such as 1%")
}

fn loss(flag: &str, key: &str, share: Ratio) -> Result<(), String> {
    if share < Ratio::ONE { Ok(()) } else { Err(outside(flag, key, share, "0% to below 100%, such as 1%")) }
}

fn queue(flag: &str, key: &str, queue: Queue) -> Result<(), String> {
    let fits = match queue.limit() {
        QueueLimit::Packets(count) => count <= 100_000_000,
        QueueLimit::Bytes(bytes) => bytes <= Bytes::new(100_000_000_000),
        QueueLimit::Time(span) => span <= Span::from_secs(3600),
        QueueLimit::Unlimited => true,
    };
    let takes = "at most 100000000pkt, 100GB or 1h, such as 3200pkt, or `unlimited`";
    if fits { Ok(()) } else { Err(outside(flag, key, queue, takes)) }
}

/// The emulator's links carry whole packets, whatever they hold.
fn no_grain(path: &Path) -> Result<(), String> {
    match path.grain {
        Span::ZERO => Ok(()),
        grain => Err(format!(
            "path.grain = \"{grain}\": the emulator releases a packet when it is due, only the simulator rounds its times; leave it out"
        )),
    }
}

fn no_ack_filter((flag, queue): (&str, Queue)) -> Result<(), String> {
    match queue {
        Queue::DropTail(DropTail { ack_filter: true, .. }) => Err(format!(
            "{flag} {queue}: the emulator does not read acknowledgements, only the simulator does; leave ack-filter out"
        )),
        _ => Ok(()),
    }
}

/// Refuses a queue that no packet of this size fits into.
///
/// # Errors
/// What the queue must hold.
pub fn holds_a_packet(flag: &str, queue: Queue, packet: Bytes) -> Result<(), String> {
    match queue.limit() {
        QueueLimit::Bytes(bytes) if bytes < packet => Err(format!(
            "{flag} {queue}: a packet has {packet}, so that the queue drops each of them; write {packet} or more, or a \
             number of packets such as 10pkt"
        )),
        _ => Ok(()),
    }
}

fn outside(flag: &str, key: &str, value: impl Display, takes: &str) -> String {
    format!("{flag} {value} (in a Scenario: {key}) is out of range; write {takes}")
}

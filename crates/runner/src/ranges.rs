//! Rules that hold between conditions; the range of each is in [`conditions`].

use crate::RequestError;
use cellcc_experiment::conditions::{self, Command};
use cellcc_experiment::{Endpoint, Plan, PlanFile};
use cellcc_link::Queue;
use cellcc_units::{Bytes, QueueLimit};

/// Time series of a run hold at most this many bins: a day in bins of 100 ms.
const MOST_BINS: u64 = 1_000_000;

/// Checks every value, whether it came from a flag or from the file `name`, including varied ones.
///
/// # Errors
/// The value, its flag and its key in a Scenario, and the values that are allowed.
pub(crate) fn check(file: &PlanFile, name: &str) -> Result<(), RequestError> {
    check_values(file).map_err(RequestError::new)?;
    for variation in file.variations().map_err(|error| RequestError::new(format!("{name}: {error}")))? {
        check_values(&variation.file)
            .map_err(|problem| RequestError::new(format!("{name}: [vary] {}: {problem}", variation.text)))?;
    }
    Ok(())
}

/// Checks the path of `cellcc shell`, whose files have been read, and whose packets have at most `mtu`.
///
/// # Errors
/// The value, its flag, and the values that are allowed.
pub fn check_emulated(file: &PlanFile, mtu: Bytes) -> Result<(), RequestError> {
    let checks = || {
        conditions::check(file, Command::Shell)?;
        conditions::check_extra_delay(&file.path)?;
        [("--queue", file.path.queue), ("--up-queue", file.path.reverse.queue)].into_iter().try_for_each(
            |(flag, queue)| {
                holds_a_packet(flag, queue, mtu)?;
                queue.check_emulated().map_err(|problem| format!("{flag} {problem}"))
            },
        )
    };
    checks().map_err(RequestError::new)
}

fn check_values(file: &PlanFile) -> Result<(), String> {
    conditions::check(file, Command::Compare)?;
    let (path, endpoint) = (&file.path, &file.endpoint);
    if file.warm_up >= file.duration {
        return Err(format!(
            "--warm-up {} leaves nothing of a run of {} (--duration) to measure; write a shorter one",
            file.warm_up, file.duration
        ));
    }
    one_way_to_acknowledge(endpoint)?;
    if file.duration.as_nanos() / endpoint.series_bin.as_nanos() > MOST_BINS {
        return Err(format!(
            "--series-bin {} makes more than {MOST_BINS} bins of --duration {}; write a wider bin",
            endpoint.series_bin, file.duration
        ));
    }
    holds_a_packet("--queue", path.queue, endpoint.packet())?;
    holds_a_packet("--reverse-queue", path.reverse.queue, endpoint.header)
}

/// A policy says everything: with it, counts and delays would be without effect.
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

/// Checks extra delays, once the files that hold them have been read.
pub(crate) fn check_extra_delays(plan: &Plan) -> Result<(), RequestError> {
    let delays = |run: &cellcc_experiment::PlannedRun| conditions::check_extra_delay(&run.scenario.path);
    plan.runs.iter().try_for_each(delays).map_err(RequestError::new)
}

/// Refuses a flow that would start after the end: the user would wait for it in vain.
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

/// Refuses a queue that no packet of this size fits into.
fn holds_a_packet(flag: &str, queue: Queue, packet: Bytes) -> Result<(), String> {
    match queue.limit() {
        QueueLimit::Bytes(bytes) if bytes < packet => Err(format!(
            "{flag} {queue}: a packet has {packet}, so that the queue drops each of them; write {packet} or more, or a \
             number of packets such as 10pkt"
        )),
        _ => Ok(()),
    }
}

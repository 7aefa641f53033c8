//! The recorded events of a flow, given to a scheme again.

use super::{Args, named};
use crate::exit::{Exit, print};
use cellcc_control::Scheme;
use cellcc_control::event_log::{Decision, Difference, Entry, EventLog, Header, Replay};
use cellcc_units::Span;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// Lines are printed so many bytes at a time.
const PRINTED_BYTES: usize = 1 << 16;

/// Replays a log, or prints it, and says whether a decision differs.
pub(super) fn differs(mut log: EventLog<impl io::Read>, args: &Args, path: &Path) -> Result<bool, Exit> {
    if args.dump {
        return dump(&mut log, path).map(|()| false);
    }
    let header = log.header().clone();
    let scheme = scheme(args, &header, path)?;
    let replay = log.replay(scheme.build(&header.context)).map_err(|error| named(path, error))?;
    if replay.events == 0 {
        return Err(named(path, "it has no event, and so no decision to judge"));
    }
    print(&if args.format.is_json() {
        as_json(&header, &scheme, &replay).to_string()
    } else {
        as_text(&header, &scheme, &replay)
    })?;
    Ok(replay.difference.is_some())
}

fn scheme(args: &Args, header: &Header, path: &Path) -> Result<Scheme, Exit> {
    let registry = cellcc_experiment::registry();
    match &args.scheme {
        Some(text) => registry.parse(text).map_err(|error| Exit::input(format!("--scheme: {error}"))),
        None => registry.parse(&header.scheme).map_err(|error| {
            let Header { scheme, code, .. } = header;
            let recorded = format!("recorded by version {code} with `{scheme}`");
            named(path, format!("{recorded}: {error}; name another with --scheme"))
        }),
    }
}

fn dump(log: &mut EventLog<impl io::Read>, path: &Path) -> Result<(), Exit> {
    let mut lines = described(log.header()) + "\n";
    let mut event = 0_u64;
    loop {
        let entry = log.next_entry();
        if lines.len() > PRINTED_BYTES || !matches!(entry, Ok(Some(_))) {
            print(&lines)?;
            lines.clear();
        }
        let Some(Entry { now, call, decision }) = entry.map_err(|error| named(path, error))? else {
            return Ok(());
        };
        event += 1;
        let (inputs, decided) = (listed(&call.inputs()), listed(&decision.fields()));
        let _ = writeln!(lines, "{event} {:.9} {}{inputs} ->{decided}", now.as_secs_f64(), call.kind());
    }
}

fn described(header: &Header) -> String {
    let Header { scheme, context, code, .. } = header;
    let (packet, window, seed) = (context.packet, context.initial_window, context.seed);
    format!("recorded: {scheme} (packet {packet}, initial window {window}, seed {seed}) by cellcc {code}")
}

/// ` name=value name=value`.
fn listed(fields: &[(String, String)]) -> String {
    fields.iter().map(|(name, value)| format!(" {name}={value}")).collect()
}

fn as_text(header: &Header, scheme: &Scheme, replay: &Replay) -> String {
    let Replay { events, duration, difference } = replay;
    let mut text = format!("{}\nreplayed: {}\n", described(header), scheme.text());
    let Some(Difference { now, kind, inputs, recorded, replayed }) = difference else {
        let _ = write!(text, "identical: {events} events in {} s", seconds(*duration));
        return text;
    };
    let _ = writeln!(text, "different: event {events}, {kind} at {:.9} s", now.as_secs_f64());
    for (name, value) in inputs {
        let _ = writeln!(text, "  {name:16} {value}");
    }
    let _ = writeln!(text, "{:19}{:24}replayed", "decision", "recorded");
    for ((name, recorded), (_, replayed)) in recorded.fields().iter().zip(replayed.fields()) {
        let mark = if *recorded == replayed { ' ' } else { '!' };
        let _ = writeln!(text, "{mark} {name:16} {recorded:23} {replayed}");
    }
    text
}

fn seconds(span: Span) -> String {
    format!("{:.3}", span.as_secs_f64())
}

fn as_json(header: &Header, scheme: &Scheme, replay: &Replay) -> Value {
    let Header { scheme: recorded, context, code, .. } = header;
    let inputs = |inputs: &[(String, String)]| -> Value {
        inputs.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
    };
    let difference = replay.difference.as_ref().map(|difference| {
        json!({
            "event": replay.events,
            "at_ns": difference.now.as_nanos(),
            "kind": difference.kind,
            "inputs": inputs(&difference.inputs),
            "recorded": decision(&difference.recorded),
            "replayed": decision(&difference.replayed),
        })
    });
    json!({
        "recorded_scheme": recorded,
        "replayed_scheme": scheme.text(),
        "packet_bytes": context.packet.get(),
        "initial_window_bytes": context.initial_window.get(),
        "seed": context.seed,
        "code_version": code,
        "events": replay.events,
        "duration_s": replay.duration.as_secs_f64(),
        "identical": replay.difference.is_none(),
        "difference": difference,
    })
}

fn decision(decision: &Decision) -> Value {
    let Decision { tag, limits, next_timer, verdict, ecn } = decision;
    json!({
        "window_bytes": limits.window.get(),
        "pacing_rate_bytes_per_s": limits.pacing_rate.map(|rate| rate.as_bytes_per_sec()),
        "send_quantum_bytes": limits.send_quantum.get(),
        "budget_bytes": limits.budget.map(|budget| budget.get()),
        "signal": limits.signal.map(|signal| signal.as_bytes().to_vec()),
        "next_timer_ns": next_timer.map(|time| time.as_nanos()),
        "tag": tag,
        "verdict": verdict.map(|verdict| format!("{verdict:?}")),
        "ecn": format!("{ecn:?}"),
    })
}

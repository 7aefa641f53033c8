//! `mm-link UP DOWN [OPTION...]`: a link in each direction, on the schedule of a trace.

use super::queue::{self, Named};
use super::words::Words;
use super::{Chain, Direction};
use crate::error::EmuError;
use crate::log::{LogHeader, LogSpec};
use crate::stage::Stage;
use cellcc_link::{LinkConfig, Source, SpecError};
use std::sync::Arc;

/// The options.
#[derive(Debug, Default)]
struct Options {
    once: bool,
    meters: Vec<String>,
    uplink: OfDirection,
    downlink: OfDirection,
}

#[derive(Debug, Default)]
struct OfDirection {
    /// Empty, as in Mahimahi: none.
    log: String,
    /// Empty: infinite, as Mahimahi has it.
    queue: String,
    queue_arguments: String,
}

const OPTIONS: &str = "there are --once, --uplink-log=FILE, --downlink-log=FILE, --uplink-queue=KIND, \
                       --downlink-queue=KIND, --uplink-queue-args=NAME=NUMBER,..., \
                       --downlink-queue-args=NAME=NUMBER,..., --meter-uplink, --meter-uplink-delay, --meter-downlink, \
                       --meter-downlink-delay and --meter-all; options of the command come after `--`";

pub(super) fn add(
    words: &mut Words,
    chain: &mut Chain,
    outside: &str,
    open: &dyn Fn(&str) -> Result<Source, SpecError>,
) -> Result<(), EmuError> {
    let command_line = words.whole_line();
    let config = format!("{outside}{}", chain.prefix);
    let (traces, options) = read(words)?;
    let [uplink, downlink] = traces;
    let ways = [
        (Direction::Up, "Uplink", uplink, options.uplink),
        (Direction::Down, "Downlink", downlink, options.downlink),
    ];
    for (direction, link, trace, of_direction) in ways {
        let header = LogHeader {
            link: link.into(),
            trace: trace.into(),
            command_line: command_line.clone(),
            queue: String::new(),
            config: config.clone(),
        };
        let source = open(trace).map_err(|error| words.refused(&error.to_string()))?;
        let stage = stage(&source, options.once, of_direction, header)
            .map_err(|problem| words.refused(&format!("{}: {problem}", link.to_lowercase())))?;
        chain
            .notes
            .extend(source.capacity.delay_note().map(|note| format!("mm-link: `{trace}` adds {note}")));
        if options.once && source.capacity.period().is_none() {
            chain.notes.push(format!("mm-link: --once changes nothing for `{trace}`, which has no end"));
        }
        chain.add(direction, stage);
    }
    if !options.meters.is_empty() {
        let meters = options.meters.join(", ");
        chain.notes.push(format!(
            "mm-link: {meters}: there are no live pictures; `cellcc graph LOG` makes them from a log"
        ));
    }
    chain.prefix += "[link] ";
    Ok(())
}

/// The two traces and the options, which may stand before, between and after them.
fn read<'a>(words: &mut Words<'a>) -> Result<([&'a str; 2], Options), EmuError> {
    let mut options = Options::default();
    let mut traces = [None; 2];
    let mut has_options = true;
    while let Some(word) = words.peek() {
        let missing = traces.iter().position(Option::is_none);
        let is_option = has_options && word.len() > 1 && word.as_encoded_bytes().starts_with(b"-");
        match (word == "--", missing) {
            (true, None) => break,
            (true, Some(_)) if has_options => {
                has_options = false;
                words.next("")?;
            }
            _ if is_option => option(words, &mut options)?,
            (_, Some(place)) => traces[place] = Some(words.next("a trace")?),
            (_, None) => break,
        }
    }
    match traces {
        [Some(uplink), Some(downlink)] => Ok(([uplink, downlink], options)),
        [None, _] => Err(words.missing("the uplink's trace")),
        _ => Err(words.missing("the downlink's trace")),
    }
}

fn option(words: &mut Words, options: &mut Options) -> Result<(), EmuError> {
    let word = words.next("an option")?;
    let (name, attached) = split(word);
    let is_flag = name == "--once" || name.starts_with("--meter-");
    if is_flag && attached.is_some() {
        return Err(words.refused(&format!("`{word}`: {name} takes no value")));
    }
    let mut value = || match attached {
        Some(value) => Ok(value.to_owned()),
        None => words.next(&format!("the value of {name}")).map(str::to_owned),
    };
    match name {
        "--once" => options.once = true,
        "--meter-all"
        | "--meter-uplink"
        | "--meter-uplink-delay"
        | "--meter-downlink"
        | "--meter-downlink-delay" => options.meters.push(name.into()),
        "--uplink-log" | "-u" => options.uplink.log = value()?,
        "--downlink-log" | "-d" => options.downlink.log = value()?,
        "--uplink-queue" => options.uplink.queue = value()?,
        "--downlink-queue" => options.downlink.queue = value()?,
        "--uplink-queue-args" => options.uplink.queue_arguments = value()?,
        "--downlink-queue-args" => options.downlink.queue_arguments = value()?,
        _ => return Err(words.refused(&format!("there is no option `{name}`; {OPTIONS}"))),
    }
    Ok(())
}

/// An option's name, and its value where it is in the same word: `--uplink-log=FILE`, or `-uFILE` as getopt has it.
fn split(word: &str) -> (&str, Option<&str>) {
    if let Some((name, value)) = word.split_once('=').filter(|_| word.starts_with("--")) {
        return (name, Some(value));
    }
    match word.split_at_checked(2) {
        Some((name @ ("-u" | "-d"), value)) if !value.is_empty() => (name, Some(value)),
        _ => (word, None),
    }
}

fn stage(source: &Source, once: bool, options: OfDirection, header: LogHeader) -> Result<Stage, String> {
    let kind = if options.queue.is_empty() { "infinite" } else { &options.queue };
    let Named { queue, name } = queue::queue(kind, &options.queue_arguments)
        .map_err(|problem| format!("queue `{kind}`, arguments `{}`: {problem}", options.queue_arguments))?;
    let capacity = match once {
        true => Arc::new(source.capacity.once().map_err(|error| error.to_string())?),
        false => Arc::clone(&source.capacity),
    };
    let header = LogHeader { queue: name, ..header };
    let log = (!options.log.is_empty()).then(|| LogSpec { path: options.log.into(), header });
    Ok(Stage { log, ..Stage::link(LinkConfig { capacity, queue, ..LinkConfig::transparent() }, 0) })
}

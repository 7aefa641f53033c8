//! Flags and Scenario file become one `PlanFile`.

use super::args::Args;

use crate::exit::Exit;
use crate::traces;
use cellcc_control::split_list;
use cellcc_experiment::{self as experiment, CellSetup, Offset, PlanFile, Vary};
use cellcc_link::{Delay, LossRate};
use cellcc_units::{Bytes, input};
use std::path::Path;

/// What runs when nothing is asked for.
const QUICK_START: &str = include_str!("../../../../scenarios/quick-start.toml");
const QUICK_START_NAME: &str = "scenarios/quick-start.toml";

/// The largest Scenario file: room for the names of 100,000 traces.
const MOST_BYTES: Bytes = Bytes::new(16_000_000);

/// What is asked for, and the name of the file it comes from.
pub(super) struct Asked {
    pub(super) file: PlanFile,
    pub(super) name: String,
}

/// What is asked for: the Scenario file (or that of the folder to be resumed, or the quick start), and over it the flags.
pub(super) fn plan_file(args: &Args) -> Result<Asked, Exit> {
    let Asked { mut file, name } = base(args)?;
    if let Some(list) = &args.schemes {
        file.schemes = split_list(list).into_iter().map(String::from).collect();
        if file.schemes.is_empty() {
            return Err(Exit::input("--schemes names no scheme; write for example --schemes cubic,reminis"));
        }
    }
    if !args.traces.is_empty() {
        file.traces.clone_from(&args.traces);
    }
    file.traces = traces::expand(&file.traces)?;
    let vary = &mut file.vary;
    let path = &mut file.path;
    set(vary, "path.rtt", &mut path.rtt, args.path.rtt);
    set(vary, "path.queue", &mut path.queue, args.path.queue);
    set(vary, "path.loss", &mut path.loss, args.path.loss);
    set(vary, "path.extra_delay", &mut path.extra_delay, args.path.extra_delay.clone());
    set(vary, "path.extra_loss", &mut path.extra_loss, args.path.extra_loss.clone());
    set(vary, "path.jitter", &mut path.jitter, args.path.jitter);
    set(
        vary,
        "path.reverse.trace",
        &mut path.reverse.trace,
        args.path.reverse_rate.as_deref().map(traces::normal),
    );
    set(vary, "path.reverse.queue", &mut path.reverse.queue, args.path.reverse_queue);
    set(vary, "path.reverse.loss", &mut path.reverse.loss, args.path.reverse_loss);
    let endpoint = &mut file.endpoint;
    set(vary, "endpoint.mss", &mut endpoint.mss, args.endpoint.mss);
    set(vary, "endpoint.header", &mut endpoint.header, args.endpoint.header);
    set(vary, "endpoint.ack_every", &mut endpoint.ack_every, args.endpoint.ack_every);
    set(vary, "endpoint.max_ack_delay", &mut endpoint.max_ack_delay, args.endpoint.max_ack_delay);
    set(vary, "endpoint.acks", &mut endpoint.acks, args.endpoint.acks.map(Some));
    set(vary, "endpoint.offload", &mut endpoint.offload, args.endpoint.offload.map(Some));
    set(vary, "endpoint.recovery", &mut endpoint.recovery, args.endpoint.recovery);
    set(vary, "endpoint.series_bin", &mut endpoint.series_bin, args.endpoint.series_bin);
    set(vary, "title", &mut file.title, args.title.clone());
    set(vary, "seeds", &mut file.seeds, args.seeds.clone());
    set(vary, "offset", &mut file.offset, args.offset);
    if let Some(list) = &args.driver {
        file.drivers = split_list(list).into_iter().map(String::from).collect();
    }
    set(vary, "baseline", &mut file.baseline, args.baseline.clone());
    set(vary, "duration", &mut file.duration, args.duration);
    set(vary, "warm_up", &mut file.warm_up, args.warm_up);
    set(vary, "background", &mut file.background, args.path.background.clone());
    if let Some(text) = &args.path.cell {
        file.cell = Some(cell(text)?);
        vary.remove("cell");
    }
    spell_out(&mut file.path)?;
    Ok(Asked { file, name })
}

/// Reads the files of delays and losses, once: a pipe gives its content to the first reader only, and what is kept of the
/// plan must not need them.
fn spell_out(path: &mut experiment::Path) -> Result<(), Exit> {
    let refused = |what: &'static str| move |error| Exit::input(format!("{what}: {error}"));
    Delay::spell_out(&mut path.extra_delay).map_err(refused("extra delay"))?;
    LossRate::spell_out(&mut path.extra_loss).map_err(refused("extra loss"))
}

/// A flag has the last word: what it sets is varied no more.
fn set<T>(vary: &mut Vary, key: &str, value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
        vary.remove(key);
    }
}

fn base(args: &Args) -> Result<Asked, Exit> {
    let resumed = args.execution.out.as_ref().filter(|_| args.execution.resume);
    if let Some(out) = resumed.filter(|out| !out.is_dir()) {
        return Err(Exit::input(format!(
            "--resume --out {}: there is no such folder, and so nothing to finish; name the one of the interrupted command, or \
             leave --resume out",
            out.display()
        )));
    }
    if let Some(path) = &args.scenario {
        return read(path);
    }
    if let Some(path) = resumed.map(|out| out.join("scenario.toml")).filter(|path| path.exists()) {
        return read(&path);
    }
    let mut asked = parse(QUICK_START_NAME, QUICK_START)?;
    if args.schemes.is_some() || !args.traces.is_empty() {
        asked.file.title.clear();
    }
    if args.seeds.as_ref().is_some_and(|seeds| seeds.as_slice().len() > 1) {
        // Several seeds are to give several results, and most schemes draw no random number. A Scenario's figures hold for its offset.
        asked.file.offset = Offset::Random;
    }
    Ok(asked)
}

pub(super) fn read(path: &Path) -> Result<Asked, Exit> {
    let name = path.display().to_string();
    let text = input::read_text(path, MOST_BYTES)
        .map_err(|error| Exit::input(format!("the Scenario {name}: {error}")))?;
    parse(&name, &text)
}

fn parse(name: &str, text: &str) -> Result<Asked, Exit> {
    let file = toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Exit::input(format!("{name}:{line}: {}", error.message().replace('\n', ", ")))
    })?;
    Ok(Asked { file, name: name.into() })
}

fn cell(text: &str) -> Result<CellSetup, Exit> {
    let (scheduler, users) = text.split_once(':').unwrap_or((text, ""));
    let users: Vec<String> = split_list(users).into_iter().map(traces::normal).collect();
    if users.is_empty() {
        return Err(Exit::input(format!(
            "--cell {text}: name the channels of the users beside user 0, such as --cell proportional-fair:lte-drive,3g \
             (a trace with a comma in it goes into a Scenario file)"
        )));
    }
    Ok(CellSetup { scheduler: scheduler.trim().into(), users })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_control::Registry;
    use cellcc_experiment::Plan;
    use cellcc_sim::SimDriver;

    #[test]
    fn the_quick_start_is_a_scenario() {
        let Asked { file, .. } = parse(QUICK_START_NAME, QUICK_START).unwrap();
        assert_eq!((file.schemes.len(), file.traces.len()), (4, 5));
    }

    #[test]
    fn every_file_under_scenarios_makes_a_plan() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let driver = SimDriver::new(Registry::default());
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let Asked { mut file, .. } = read(&path).unwrap();
            // The recorded traces are not in this repository.
            file.traces = vec!["3g".into()];
            Plan::new(&file, &driver, "test").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            count += 1;
        }
        assert!(count > 1);
    }
}

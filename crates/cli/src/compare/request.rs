//! Flags and Scenario file become one [`Request`].

use super::args::{Args, Conditions};

use crate::exit::Exit;
use cellcc_control::split_list;
use cellcc_experiment::{CellSetup, Vary};
use cellcc_runner::{Request, traces};

/// What is asked for: the Scenario file (or that of the folder to be resumed, or the quick start), and over it the flags.
pub(super) fn request(args: &Args) -> Result<Request, Exit> {
    with(base(args)?, &args.conditions)
}

/// What a Scenario file asks for, and over it the flags.
pub(crate) fn with(mut request: Request, args: &Conditions) -> Result<Request, Exit> {
    let file = &mut request.file;
    if let Some(list) = &args.schemes {
        file.schemes = split_list(list).into_iter().map(String::from).collect();
        if file.schemes.is_empty() {
            return Err(Exit::input("--schemes names no scheme; write for example --schemes cubic,reminis"));
        }
    }
    if !args.traces.is_empty() {
        file.traces.clone_from(&args.traces);
    }
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
    set(vary, "like_linux", &mut file.like_linux, args.endpoint.like_linux.then_some(true));
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
    request.spell_out()?;
    Ok(request)
}

/// A flag has the last word: what it sets is varied no more.
fn set<T>(vary: &mut Vary, key: &str, value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
        vary.remove(key);
    }
}

fn base(args: &Args) -> Result<Request, Exit> {
    let resumed = args.execution.out.as_ref().filter(|_| args.execution.resume);
    if let Some(out) = resumed.filter(|out| !out.is_dir()) {
        return Err(Exit::input(format!(
            "--resume --out {}: there is no such folder, and so nothing to finish; name the one of the interrupted command, or \
             leave --resume out",
            out.display()
        )));
    }
    if let Some(path) = &args.scenario {
        return Ok(Request::read(path)?);
    }
    let args = &args.conditions;
    // A command with conditions says by itself what to run; one without would run the quick start.
    let is_said = *args != Conditions::default();
    if let Some(out) = resumed.filter(|out| !is_said || out.join("scenario.toml").exists()) {
        return Ok(Request::kept(out)?);
    }
    let other = args.schemes.is_some() || !args.traces.is_empty();
    let several_seeds = args.seeds.as_ref().is_some_and(|seeds| seeds.as_slice().len() > 1);
    Ok(Request::quick_start(other, several_seeds)?)
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
    use cellcc_experiment::Plan;
    use cellcc_sim::SimDriver;
    use std::path::Path;

    #[test]
    fn every_file_under_scenarios_makes_a_plan() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let driver = SimDriver::new(cellcc_schemes::registry());
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let Request { mut file, .. } = Request::read(&path).unwrap();
            // The recorded traces are not in this repository.
            file.traces = vec!["3g".into()];
            Plan::new(&file, &driver, "test").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            count += 1;
        }
        assert!(count > 1);
    }
}

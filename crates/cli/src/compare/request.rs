//! Flags and Scenario file become one [`Request`].

use super::Args;
use crate::conditions;
use crate::exit::Exit;
use cellcc_runner::Request;

/// The Scenario file (or that of the resumed folder, or the quick start), overridden by the flags.
pub(super) fn request(args: &Args) -> Result<Request, Exit> {
    with(base(args)?, &args.conditions)
}

/// The request of a command's words, as in a page: `cellcc compare ...`.
pub(crate) fn of_words(words: &[String]) -> Result<Request, Exit> {
    #[derive(clap::Parser)]
    #[command(name = "cellcc compare", no_binary_name = true)]
    struct Compare {
        #[command(flatten)]
        args: Args,
    }
    let compare = <Compare as clap::Parser>::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        Exit::input(text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
    })?;
    request(&compare.args)
}

/// A Scenario file, overridden by the flags.
pub(crate) fn with(request: Request, conditions::Flags(given): &conditions::Flags) -> Result<Request, Exit> {
    let request = request.with(given)?;
    if given.contains_key("schemes") && request.file.schemes.is_empty() {
        return Err(Exit::input("--schemes names no scheme; write for example --schemes cubic,reminis"));
    }
    let cell = request.file.cell.as_ref().filter(|cell| given.contains_key("cell") && cell.users.is_empty());
    if let Some(cell) = cell {
        return Err(Exit::input(format!(
            "--cell {}: name the channels of the users after user 0, such as --cell proportional-fair:lte-drive,3g (a trace with \
             a comma in it goes into a Scenario file)",
            cell.scheduler
        )));
    }
    Ok(request)
}

fn base(args: &Args) -> Result<Request, Exit> {
    if let Some(path) = &args.scenario {
        return Ok(Request::read(path)?);
    }
    let conditions::Flags(given) = &args.conditions;
    let resumed = args.execution.out.as_ref().filter(|_| args.execution.resume);
    // A command with conditions says by itself what to run, and begins where it was ended before it had a folder; one without would
    // run the quick start.
    if let Some(out) = resumed.filter(|out| given.is_empty() && !out.is_dir()) {
        return Err(Exit::input(format!(
            "--resume --out {}: there is no such folder to finish; name the folder of the interrupted command, or omit --resume",
            out.display()
        )));
    }
    if let Some(out) = resumed.filter(|out| given.is_empty() || out.join("scenario.toml").exists()) {
        return Ok(Request::kept(out)?);
    }
    Ok(Request::quick_start(given)?)
}

#[cfg(all(test, feature = "network"))]
mod tests {
    use super::*;
    use cellcc_experiment::{DEFAULT_DRIVER, Plan, Recordings};
    use cellcc_runner::Drivers;
    use std::path::Path;

    #[test]
    fn every_file_under_scenarios_makes_a_plan() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let in_quic = || "quic-virtual".to_owned();
        let drivers = Drivers::new(&[in_quic()], &Recordings::default()).unwrap();
        let mut count = 0;
        let entries = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let (subjects, files): (Vec<_>, Vec<_>) = entries(&folder).partition(|path| path.is_dir());
        for path in files.into_iter().chain(subjects.iter().flat_map(|subject| entries(subject))) {
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let Request { mut file, .. } = Request::read(&path).unwrap();
            // The recorded traces are not in this repository.
            file.traces = vec!["3g".into()];
            // The others need rights.
            let in_sim = file.drivers.iter().any(|name| name == DEFAULT_DRIVER);
            file.drivers = vec![if in_sim { DEFAULT_DRIVER.into() } else { in_quic() }];
            Plan::new(&file, &drivers, "test").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            count += 1;
        }
        assert!(count > 100, "{count}");
    }
}

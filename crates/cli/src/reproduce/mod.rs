//! `cellcc reproduce`: claims and tables say what runs they need, the runs are one Plan, and what came out is judged.

mod args;
mod figures;
mod files;
mod pages;
mod runs;
mod shown;

pub(crate) use args::Args;

use crate::compare::{Bar, processors, quoted, stop_on_signal};
use crate::exit::{Exit, tell};
use crate::free_folder::first_free;
use crate::present;
use cellcc_claims::{Claim, Judged, Verdict};
use cellcc_runner::{Existing, OutputFolder, Results, Runner, SeriesDetail};
use cellcc_version::VERSION;
use files::Library;
use pages::Pages;
use runs::{Outcomes, Sets};
use std::num::NonZeroUsize;

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let mut library = Library::read()?;
    let (claims, figures) = library.chosen(args)?;
    let mut pages = Pages::read(args)?;
    let mentioned = pages.claims(&library.claims)?;
    let all: Vec<&Claim> = claims.iter().copied().chain(mentioned.iter().copied()).collect();
    let mut needs =
        library.claims.needs(all.iter().copied(), figures.iter().copied()).map_err(Exit::input)?;
    pages.add_needs(&mut needs);

    let sets = Sets::new(&library, &pages, needs, args)?;
    sets.check(&all, &figures)?;
    let (out, failures) = match execute(args, &sets)? {
        Executed::Share(folder) => return share_is_done(args, &folder),
        Executed::All(out, failures) => (out, failures),
    };
    let outcomes = Outcomes::read(out.path())?;
    let data = sets.data(&outcomes);
    let judge = |claim: &&Claim| match sets.left_out(&claim.data()) {
        Some(why) => Ok((claim.unjudged(why), true)),
        None => claim.judge(&data).map(|judged| (judged, false)).map_err(Exit::input),
    };
    let judged: Vec<(Judged, bool)> = claims.iter().map(judge).collect::<Result<_, Exit>>()?;
    let mentioned: Vec<Judged> =
        mentioned.iter().map(|claim| Ok(judge(claim)?.0)).collect::<Result<_, Exit>>()?;

    let changed = shown::scorecard(&library, &judged, args, &out)?;
    let drawn = figures::drawn(&figures, &claims, &data, &sets)?;
    shown::page(&judged, &drawn, args, &out)?;
    let (checked, drifted) = pages.compare(&data, &sets, &mentioned)?;
    let of_claims = judged.iter().filter(|(judged, _)| judged.verdict != Verdict::Untested).count();
    let is_idle = sets.tell_left_out(&format!(
        "judged without them: {of_claims} of {} claims, {checked} numbers of pages",
        judged.len()
    )) && of_claims + checked + drawn.len() == 0;
    if args.write {
        library.write(&judged, args.scale(), VERSION)?;
        pages.write()?;
    }
    present::failures(&failures)?;
    if is_idle || (changed || drifted) && !args.write { Err(Exit::Differs) } else { Ok(()) }
}

enum Executed {
    All(OutputFolder, Vec<cellcc_runner::Failure>),
    Share(OutputFolder),
}

/// Runs what the claims need, into the output folder.
fn execute(args: &Args, sets: &Sets) -> Result<Executed, Exit> {
    let out = match &args.out {
        Some(out) => out.clone(),
        None => first_free((1_u32..).map(|number| format!("cellcc-out/{number:03}").into()))?,
    };
    let runner = Runner {
        out: OutputFolder::create(&out)?,
        jobs: args.jobs.and_then(|jobs| NonZeroUsize::new(jobs.into())).unwrap_or_else(processors),
        shard: args.shard,
        existing: if args.resume { Existing::Resume } else { Existing::Refuse },
        series: SeriesDetail::Sampled,
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        scenario: "# The runs of `cellcc reproduce` are those of several Scenarios: run-info.json has the command.\n".into(),
    };
    let bar = Bar::new(args.quiet);
    let stop = stop_on_signal(false)?;
    let outcome = runner.run(sets.plan(), sets.driver(), &bar, &stop);
    bar.clear();
    let outcome = outcome?;
    if outcome.interrupted {
        tell(&format!(
            "interrupted: {} of {} runs are finished and kept; to go on: the same command with --resume --out {}",
            outcome.finished,
            outcome.runs,
            quoted(runner.out.path())
        ));
        return Err(Exit::Interrupted);
    }
    Ok(match args.shard {
        Some(_) => Executed::Share(runner.out),
        None => Executed::All(runner.out, outcome.failures),
    })
}

fn share_is_done(args: &Args, out: &OutputFolder) -> Result<(), Exit> {
    if let Some(shard) = args.shard.filter(|_| !args.quiet) {
        tell(&format!(
            "share {shard} is in {}; when all are there, `cellcc merge` joins them, and the same command with --resume --out and the \
             joined folder judges",
            out.path().display()
        ));
    }
    Ok(())
}

impl Outcomes {
    fn read(folder: &std::path::Path) -> Result<Self, Exit> {
        let mut outcomes = Self::default();
        Results::each(folder, |record| outcomes.add(record))?;
        Ok(outcomes)
    }
}

//! `cellcc reproduce`: makes the runs of claims and tables, and shows the verdicts.

mod shown;

use crate::compare;
use crate::exit::{Exit, print, tell};
use crate::free_folder::first_free;
use crate::interrupt::stop_on_signal;
use crate::own::version;
use crate::present;
use crate::running::{Bar, jobs};
use crate::terminal::quoted;
use cellcc_claims::Scale;
use cellcc_runner::reproduce::{CheckedPages, Library, Outcomes, Reproduction, SCENARIO, Wanted, WriteError};
use cellcc_runner::{Existing, OutputFolder, Runner, SeriesDetail, Shard};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc reproduce natcp
  cellcc reproduce REM-04 'RBBR-1*' table-2
  cellcc reproduce --docs docs/fidelity/natcp.md")]
pub(crate) struct Args {
    /// Claims: REM-04, 'REM-*', a paper (reminis), or a place in one (table-2) [default: all; with --docs and pages, none].
    #[arg(value_name = "CLAIM")]
    claims: Vec<String>,
    /// Also check the tables of these pages [default: README.md and all of docs].
    #[arg(long, value_name = "PAGE", num_args = 0..)]
    docs: Option<Vec<PathBuf>>,
    /// Run length: paper, as documented, or smaller, shorter runs on the same links.
    #[arg(long, value_name = "SCALE", default_value = "paper", value_parser = ["smaller", "paper"])]
    scale: String,
    /// Test bed to judge the claims in, such as mahimahi, instead of the Scenarios' own; the previous verdict is that of the latter.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["write", "docs"])]
    environment: Option<String>,
    /// Update claims/state.tsv, docs/fidelity/claims.md and README.md, and numbers of pages that have drifted.
    #[arg(long)]
    write: bool,
    /// Output folder [default: the next free one of cellcc-out/001, 002, ...].
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Finish the interrupted runs of --out.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Run only one shard, e.g. 2/8, for array jobs; `cellcc merge` joins the shards.
    #[arg(long, value_name = "INDEX/COUNT", requires = "out")]
    shard: Option<Shard>,
    /// Number of parallel runs [default: one per CPU].
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Print only errors on standard error, without progress bar and notes.
    #[arg(long, short)]
    quiet: bool,
}

impl Args {
    fn scale(&self) -> Scale {
        if self.scale == "smaller" { Scale::Smaller } else { Scale::Paper }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let mut library = Library::read(Path::new(""))?;
    if let Some(name) = &args.environment {
        library.claims.enter(name).map_err(Exit::input)?;
    }
    let read_command = &|words: &[String]| compare::of_words(words).map_err(|error| error.text());
    let wanted = Wanted {
        claims: &args.claims,
        pages: args.docs.as_deref(),
        scale: args.scale(),
        version: version(),
        registry: &crate::registry(),
        read_command,
    };
    let reproduction = Reproduction::new(&library, &wanted)?;
    let (out, failures) = match execute(args, &reproduction)? {
        Executed::Share(folder) => return share_is_done(args, &folder),
        Executed::All(out, failures) => (out, failures),
    };
    let reproduced = reproduction.judge(&Outcomes::read(out.path())?)?;
    shown::scorecard(&reproduced, args, &out)?;
    shown::page(&reproduced, args, &out)?;
    tell_pages(&reproduced.pages, args.quiet)?;
    for (why, names) in &reproduced.left_out {
        tell(&format!("left out: {}: {why}", names.join(", ")));
    }
    if !reproduced.left_out.is_empty() {
        tell(&format!(
            "judged without them: {} of {} claims, {} numbers of pages",
            reproduced.judged_claims(),
            reproduced.judgements.len(),
            reproduced.pages.numbers
        ));
    }
    if args.write {
        library.write(&reproduced.judgements, args.scale(), version())?;
        reproduced.pages.write()?;
    }
    present::failures(&failures)?;
    if reproduced.is_idle() || reproduced.differs() && !args.write { Err(Exit::Differs) } else { Ok(()) }
}

fn tell_pages(pages: &CheckedPages, is_quiet: bool) -> Result<(), Exit> {
    if pages.is_empty() {
        return Ok(());
    }
    pages.problems.iter().try_for_each(|problem| print(problem))?;
    if !is_quiet {
        pages.unchecked.iter().for_each(|why| tell(&format!("unchecked: {why}")));
    }
    print(&format!(
        "{} numbers of pages checked: {} drifted; {} tables have no comment",
        pages.numbers, pages.drifted, pages.bare_tables
    ))
}

impl From<WriteError> for Exit {
    fn from(error: WriteError) -> Self {
        if matches!(error, WriteError::Unread(_)) { Self::input(error) } else { Self::failed(error) }
    }
}

enum Executed {
    All(OutputFolder, Vec<cellcc_runner::Failure>),
    Share(OutputFolder),
}

/// Makes the runs of the claims, in the output folder.
fn execute(args: &Args, reproduction: &Reproduction) -> Result<Executed, Exit> {
    let out = match &args.out {
        Some(out) => out.clone(),
        None => first_free((1_u32..).map(|number| format!("cellcc-out/{number:03}").into()))?,
    };
    let runner = Runner {
        out: OutputFolder::create(&out)?,
        jobs: jobs(args.jobs),
        shard: args.shard,
        existing: if args.resume { Existing::Resume } else { Existing::Refuse },
        series: SeriesDetail::Sampled,
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        scenario: SCENARIO.into(),
    };
    let bar = Bar::new(args.quiet);
    let stop = stop_on_signal(false)?;
    let outcome = runner.run(reproduction.plan(), reproduction.driver(), &bar, &stop);
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

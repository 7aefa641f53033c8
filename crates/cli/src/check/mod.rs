//! `cellcc check`: cases are chosen, their runs are run, and each condition has a verdict.

use crate::exit::{Exit, print};
use crate::interrupt::stop_on_signal;
use crate::own::version;
use crate::running::{Bar, jobs};
use cellcc_claims::cases::{Finding, Ruling, chosen, junit, ruling, suites};
use cellcc_experiment::Support;
use cellcc_runner::{Check, SeriesDetail, collect};
use cellcc_units::{Bytes, input, output};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc check bbr3
  cellcc check 'reminis(dtt=40ms)' --suite quick
  cellcc check cubic --suite rfc9743,cubic --driver sim,quic-virtual --junit cubic.xml
  cellcc check bbr3 --case bbr/15
  cellcc check noq:cubic
  sudo cellcc check kernel:bbr --require")]
pub(crate) struct Args {
    /// The controller: a scheme, NAME or NAME(KEY=VALUE,...); noq:NAME, one of noq's; or kernel:NAME, one of this machine's
    /// kernel, through the emulator.
    #[arg(value_name = "SUBJECT")]
    subject: String,
    /// Suites, comma-separated: bbr, rfc9743, paths, newreno, cubic, or quick, their short cases [default: those about the
    /// subject].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    suite: Vec<String>,
    /// Cases: bbr/15, 15, or a pattern such as 'bbr/1*'.
    #[arg(long, value_name = "CASE")]
    case: Vec<String>,
    /// Drivers, comma-separated: sim, quic-virtual, quic [default: sim; quic-virtual for noq:NAME].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    driver: Vec<String>,
    /// Write the results as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Output format: text (one line per assertion) or json (one object per assertion).
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    format: String,
    /// An earlier output of `--format json`: only results that are worse than there are failures.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Fail if a driver can judge none of the cases, for example because this machine's kernel has no NAME.
    #[arg(long)]
    require: bool,
    /// Number of parallel runs [default: one per CPU].
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Print only errors on standard error, without progress bar and notes.
    #[arg(long, short)]
    quiet: bool,
}

/// Far more than the findings of all cases have.
const MOST_BYTES: Bytes = Bytes::new(16_000_000);

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let check = Check::new(&args.subject, &args.driver, &cellcc_experiment::registry(), version())?;
    let suites = suites().map_err(Exit::failed)?;
    let cases = chosen(&suites, &check.subject, &args.suite, &args.case).map_err(Exit::input)?;
    let before = args.baseline.as_deref().map(baseline).transpose()?;
    let stop = stop_on_signal(check.is_real_time())?;
    let mut findings = check.findings(&cases, version(), |plan, driver| {
        let bar = Bar::new(args.quiet);
        let collected = collect(plan, driver, jobs(args.jobs), SeriesDetail::Full, &bar, &stop);
        bar.clear();
        let collected = collected?;
        if collected.interrupted { Err(Exit::Interrupted) } else { Ok(collected.by_run()) }
    })?;
    let idle = check.idle(&findings);
    let is_idle = |finding: &&mut Finding| args.require && idle.contains(&finding.driver);
    findings.iter_mut().filter(is_idle).for_each(|finding| finding.ruling = Ruling::Error);
    let command = |finding: &Finding| command(args, finding);
    if let Some(file) = &args.junit {
        output::write(file, junit(&findings, &args.subject, command))
            .map_err(|error| Exit::input(format!("--junit {}: {error}", file.display())))?;
    }
    let is_worse = |finding: &&Finding| {
        let was_bad = |old: &Finding| {
            old.run() == finding.run() && old.condition == finding.condition && old.ruling.is_bad()
        };
        finding.ruling.is_bad() && !before.as_ref().is_some_and(|before| before.iter().any(was_bad))
    };
    let worse: Vec<&Finding> = findings.iter().filter(is_worse).collect();
    if args.format == "json" {
        print(&serde_json::to_string_pretty(&findings).map_err(Exit::failed)?)?;
    } else {
        print(&text(&findings, &idle, before.is_some().then_some(worse.len()), command))?;
    }
    let is_unmet = args.require && !idle.is_empty();
    if worse.is_empty() && !is_unmet { Ok(()) } else { Err(Exit::Differs) }
}

fn baseline(path: &Path) -> Result<Vec<Finding>, Exit> {
    let wrong = |problem: String| {
        let name = path.display();
        Exit::input(format!(
            "--baseline {name}: {problem}; write a file that `cellcc check --format json` printed"
        ))
    };
    let text = input::read_text(path, MOST_BYTES).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

/// How to repeat the run of a finding.
fn command(args: &Args, finding: &Finding) -> String {
    let subject = format!("'{}'", args.subject.replace('\'', r"'\''"));
    let driver = if finding.driver == Support::KERNEL.driver {
        String::new()
    } else {
        format!(" --driver {}", finding.driver)
    };
    format!("cellcc check {subject} --case {}{driver}", finding.case)
}

/// The sentence of each case, one line per condition, and the sums; `idle`: the drivers that judged none; `worse`: the number of
/// findings worse than in the baseline.
fn text(
    findings: &[Finding],
    idle: &[String],
    worse: Option<usize>,
    command: impl Fn(&Finding) -> String,
) -> String {
    let line = |finding: &Finding| match finding.ruling {
        Ruling::Fail | Ruling::Error => format!("{finding}  {}\n", command(finding)),
        Ruling::Skip | Ruling::Pass => format!("{finding}\n"),
    };
    let mut text = String::new();
    for of_case in findings.chunk_by(|one, other| one.case == other.case) {
        text.push_str(&format!("{}: {}\n", of_case[0].case, of_case[0].says));
        text.extend(of_case.iter().map(line));
    }
    let mut cases: Vec<&str> = findings.iter().map(|finding| finding.case.as_str()).collect();
    cases.dedup();
    let verdicts: Vec<Ruling> =
        cases.iter().map(|case| ruling(findings.iter().filter(|one| one.case == *case))).collect();
    let count = |wanted| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    text.push_str(&format!(
        "{} cases: {} pass, {} fail, {} skipped, {} errors",
        cases.len(),
        count(Ruling::Pass),
        count(Ruling::Fail),
        count(Ruling::Skip),
        count(Ruling::Error)
    ));
    if !idle.is_empty() {
        text.push_str(&format!("; none was judged by {}", idle.join(", ")));
    }
    if let Some(worse) = worse {
        text.push_str(&format!("; {worse} conditions worse than before"));
    }
    text
}

//! `cellcc check`: cases are chosen, their runs are run, and each condition has a verdict.

mod args;
mod congestion_control;

pub(crate) use args::Args;

use crate::exit::{Exit, print};
use crate::interrupt::stop_on_signal;
use crate::running::{Bar, jobs};
use cellcc_claims::cases::{Case, Finding, Ruling, Subject, check, chosen, junit, ruling, suites};
use cellcc_experiment::{DEFAULT_DRIVER, NOQ, Plan, PlanFile, Recordings, Support};
use cellcc_runner::{Drivers, SeriesDetail, collect};
use cellcc_units::{Bytes, input, output};
use cellcc_version::VERSION;
use std::path::Path;

/// What stands before a name of the kernel's, and the driver that runs it.
const KERNEL: &str = "kernel";
/// Far more than the findings of all cases have.
const MOST_BYTES: Bytes = Bytes::new(16_000_000);

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let subject = match args.subject.split_once(':') {
        Some((KERNEL, name)) if !name.is_empty() => {
            congestion_control::refuse_unknown(name)?;
            Subject::opaque(name)
        }
        _ if args.subject.starts_with(NOQ) => Subject::opaque(&args.subject),
        _ => Subject::new(&cellcc_experiment::registry().parse(&args.subject).map_err(Exit::input)?),
    };
    let is_kernel = args.subject.starts_with("kernel:");
    let suites = suites().map_err(Exit::failed)?;
    let cases = chosen(&suites, &subject, &args.suite, &args.case).map_err(Exit::input)?;
    let before = args.baseline.as_deref().map(baseline).transpose()?;
    let drivers = match args.driver.as_slice() {
        _ if is_kernel => vec![KERNEL.to_owned()],
        [] if args.subject.starts_with(NOQ) => vec![Support::QUIC_VIRTUAL.driver.to_owned()],
        [] => vec![DEFAULT_DRIVER.to_owned()],
        named => named.to_vec(),
    };
    let mut findings = match Drivers::new(&drivers, &Recordings::default()) {
        Ok(driver) => {
            if args.subject.starts_with(NOQ) {
                refuse_unknown(&subject, &drivers, &driver)?;
            }
            found(&cases, &subject, &drivers, &driver, args)?
        }
        Err(error) if is_kernel => {
            cases.iter().map(|case| case.unjudged(KERNEL, Ruling::Skip, &error.to_string())).collect()
        }
        Err(error) => return Err(error.into()),
    };
    let idle = idle(&drivers, &findings);
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

/// Refuses a controller of noq's that none of the drivers runs: the registry of schemes does not know it.
fn refuse_unknown(subject: &Subject, drivers: &[String], driver: &Drivers) -> Result<(), Exit> {
    let refusal = |name: &String| {
        let file = PlanFile {
            schemes: vec![subject.text().into()],
            traces: vec!["rate=10Mbit/s".into()],
            drivers: vec![name.clone()],
            ..PlanFile::default()
        };
        Plan::new(&file, driver, VERSION).err()
    };
    match drivers.iter().map(refusal).collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().last()) {
        Some(refusal) => Err(Exit::input(refusal)),
        None => Ok(()),
    }
}

/// Runs the cases.
fn found(
    cases: &[&Case],
    subject: &Subject,
    drivers: &[String],
    driver: &Drivers,
    args: &Args,
) -> Result<Vec<Finding>, Exit> {
    let stop =
        stop_on_signal(args.subject.starts_with("kernel:") || drivers.iter().any(|name| name == "quic"))?;
    check(cases, subject, drivers, driver, VERSION, |plan| {
        let bar = Bar::new(args.quiet);
        let collected = collect(&plan, driver, jobs(args.jobs), SeriesDetail::Full, &bar, &stop);
        bar.clear();
        let collected = collected?;
        if collected.interrupted { Err(Exit::Interrupted) } else { Ok(collected.by_run()) }
    })
}

/// The drivers by which not one case was judged: a gate that is green by them says nothing.
fn idle(drivers: &[String], findings: &[Finding]) -> Vec<String> {
    let judges_none =
        |name: &&String| !findings.iter().any(|one| one.driver == **name && one.ruling != Ruling::Skip);
    drivers.iter().filter(judges_none).cloned().collect()
}

fn baseline(path: &Path) -> Result<Vec<Finding>, Exit> {
    let wrong = |problem: String| {
        let name = path.display();
        Exit::input(format!("--baseline {name}: {problem}; write what `cellcc check --format json` printed"))
    };
    let text = input::read_text(path, MOST_BYTES).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

/// How to repeat the run of a finding.
fn command(args: &Args, finding: &Finding) -> String {
    let subject = format!("'{}'", args.subject.replace('\'', r"'\''"));
    let driver =
        if finding.driver == KERNEL { String::new() } else { format!(" --driver {}", finding.driver) };
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

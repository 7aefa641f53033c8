//! `cellcc check`: cases are chosen, their runs are run, and each condition has a verdict.

mod args;

pub(crate) use args::Args;

use crate::compare::{Bar, Drivers, processors, stop_on_signal};
use crate::exit::{Exit, print};
use cellcc_claims::cases::{Case, Finding, Outcomes, Ruling, Subject, Suite, check, junit, ruling, suites};
use cellcc_experiment::{Plan, Recordings, RunId};
use cellcc_runner::{Collected, SeriesDetail, collect};
use cellcc_units::{Bytes, input, instead};
use cellcc_version::VERSION;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

/// What stands before a name of the kernel's, and the driver that runs it.
const KERNEL: &str = "kernel";
/// Far more than the findings of all cases have.
const MOST_BYTES: Bytes = Bytes::new(16_000_000);
/// The suite of cases that are marked so, wherever they stand.
const QUICK: &str = "quick";

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let subject = match args.subject.split_once(':') {
        Some((KERNEL, name)) if !name.is_empty() => Subject::opaque(name),
        _ => Subject::new(&cellcc_schemes::registry().parse(&args.subject).map_err(Exit::input)?),
    };
    let is_kernel = args.subject.starts_with("kernel:");
    let suites = suites().map_err(Exit::failed)?;
    let cases = chosen(&suites, &subject, args)?;
    let before = args.baseline.as_deref().map(baseline).transpose()?;
    let drivers = if is_kernel { vec![KERNEL.to_owned()] } else { args.driver.clone() };
    let findings = match Drivers::new(&drivers, &Recordings::default()) {
        Ok(driver) => found(&cases, &subject, &drivers, &driver, args)?,
        Err(error) if is_kernel => cannot(&cases, &error.text(), args.require),
        Err(error) => return Err(error),
    };
    let command = |finding: &Finding| command(args, finding);
    if let Some(file) = &args.junit {
        fs::write(file, junit(&findings, &args.subject, command))
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
        print(&text(&findings, before.is_some().then_some(worse.len()), command))?;
    }
    if worse.is_empty() { Ok(()) } else { Err(Exit::Differs) }
}

/// The cases that are asked for.
fn chosen<'a>(suites: &'a [Suite], subject: &Subject, args: &Args) -> Result<Vec<&'a Case>, Exit> {
    let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).chain([QUICK]).collect();
    if let Some(unknown) = args.suite.iter().find(|name| !names.contains(&name.as_str())) {
        let known = instead(unknown, "there are", &names.join(", "));
        return Err(Exit::input(format!("--suite {unknown} is no suite{known}")));
    }
    // A case that is named is meant, whatever it is about.
    let about = |suite: &Suite| !args.case.is_empty() || suite.is_about(subject);
    let in_suite = |suite: &Suite, case: &Case| {
        let named = |name: &String| *name == suite.name || (name == QUICK && case.quick && about(suite));
        if args.suite.is_empty() { about(suite) } else { args.suite.iter().any(named) }
    };
    let all = || suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| (suite, case)));
    if let Some(unknown) = args.case.iter().find(|name| !all().any(|(_, case)| case.is_called(name))) {
        let ids: Vec<&str> = all().map(|(_, case)| case.id.as_str()).collect();
        let known = instead(unknown, "there are", &ids.join(", "));
        return Err(Exit::input(format!("--case {unknown} is no case{known}")));
    }
    let is_named = |case: &Case| args.case.is_empty() || args.case.iter().any(|name| case.is_called(name));
    let cases: Vec<&Case> =
        all().filter(|(suite, case)| is_named(case) && in_suite(suite, case)).map(|(_, case)| case).collect();
    if cases.is_empty() {
        return Err(Exit::input("no case of --suite has a name of --case; leave one of the two out"));
    }
    Ok(cases)
}

/// Runs the cases.
fn found(
    cases: &[&Case],
    subject: &Subject,
    drivers: &[String],
    driver: &Drivers,
    args: &Args,
) -> Result<Vec<Finding>, Exit> {
    let jobs = args.jobs.and_then(|jobs| NonZeroUsize::new(jobs.into())).unwrap_or_else(processors);
    let stop = stop_on_signal()?;
    check(cases, subject, drivers, driver, VERSION, |plan| {
        let bar = Bar::new(args.quiet);
        let collected = collect(&plan, driver, jobs, SeriesDetail::Full, &bar, &stop);
        bar.clear();
        let Collected { records, failures, interrupted } = collected?;
        if interrupted { Err(Exit::Interrupted) } else { Ok(outcomes(&plan, records, failures)) }
    })
}

fn outcomes(
    plan: &Plan,
    records: Vec<cellcc_experiment::Record>,
    failures: Vec<cellcc_runner::Failure>,
) -> Outcomes {
    let failed = failures.into_iter().map(|failure| (failure.id, Err(failure.cause)));
    let mut outcomes: Outcomes = failed.collect();
    let ids: Vec<RunId> =
        plan.runs.iter().map(|run| run.id).filter(|id| !outcomes.contains_key(id)).collect();
    outcomes.extend(ids.into_iter().zip(records.into_iter().map(Ok)));
    outcomes
}

/// What is said of every case where the driver cannot run here.
fn cannot(cases: &[&Case], why: &str, is_required: bool) -> Vec<Finding> {
    let ruling = if is_required { Ruling::Error } else { Ruling::Skip };
    cases.iter().map(|case| case.unjudged(KERNEL, ruling, why)).collect()
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

/// A line a condition, and what they come to; `worse`: how many are worse than in the baseline.
fn text(findings: &[Finding], worse: Option<usize>, command: impl Fn(&Finding) -> String) -> String {
    let line = |finding: &Finding| match finding.ruling {
        Ruling::Fail | Ruling::Error => format!("{finding}  {}\n", command(finding)),
        Ruling::Skip | Ruling::Pass => format!("{finding}\n"),
    };
    let mut text: String = findings.iter().map(line).collect();
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
    if let Some(worse) = worse {
        text.push_str(&format!("; {worse} conditions worse than before"));
    }
    text
}

//! `--harm` that is undecided goes on with conditions between those given.

use super::args::ExecutionArgs;
use super::bar::Bar;
use super::drivers::Drivers;
use crate::exit::{Exit, tell};
use cellcc_experiment::Plan;
use cellcc_report::harm_is_undecided;
use cellcc_runner::{Existing, Outcome, Request, Results, Runner};
use cellcc_version::VERSION;
use std::iter::successors;
use std::sync::atomic::AtomicBool;

/// What was interrupted: `request`, or what it had become since.
pub(super) fn resumed(request: Request, execution: &ExecutionArgs) -> Request {
    let out = execution.out.as_ref().filter(|_| execution.resume);
    let kept = out.and_then(|out| Request::kept(out).ok()?.scenario_toml().ok());
    let is_kept = |request: &Request| kept.is_some() && request.scenario_toml().ok() == kept;
    successors(Some(request.clone()), finer).find(is_kept).unwrap_or(request)
}

/// Runs the plan of `request`, and under further conditions as long as a harm is undecided and the budget lasts.
pub(super) fn run(
    mut request: Request,
    mut plan: Plan,
    runner: &mut Runner,
    driver: &Drivers,
    stop: &AtomicBool,
    quiet: bool,
) -> Result<Outcome, Exit> {
    loop {
        let bar = Bar::new(quiet);
        let outcome = runner.run(&plan, driver, &bar, stop);
        bar.clear();
        let outcome = outcome?;
        let is_whole = runner.shard.is_none() && !outcome.interrupted && outcome.failures.is_empty();
        // Nobody asked for hours of real time.
        let further = finer(&request).filter(|_| is_whole && driver.real_time(&plan).is_none());
        let Some(further) = further else { return Ok(outcome) };
        if !harm_is_undecided(&Results::read(runner.out.path())?.records) {
            return Ok(outcome);
        }
        request = further;
        plan = request.plan(driver, VERSION)?;
        if !quiet {
            let runs = plan.runs.len() - outcome.runs;
            let runs = if runs == 1 { "1 run".into() } else { format!("{runs} runs") };
            tell(&format!("harm is undecided: {runs} more, under conditions between those of [vary]"));
        }
        runner.existing = Existing::Resume;
        runner.scenario = request.scenario_toml().map_err(Exit::failed)?;
    }
}

fn finer(request: &Request) -> Option<Request> {
    let file = request.file.finer().filter(|_| !request.file.harm.is_empty())?;
    Some(Request { file, ..request.clone() })
}

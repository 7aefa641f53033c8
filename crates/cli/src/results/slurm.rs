//! `cellcc slurm`: a plan becomes the script of an array job; every task runs one shard of the plan.

use crate::compare;
use crate::conditions;
use crate::exit::{Exit, print};
use crate::own::version;
use crate::terminal::quoted;
use cellcc_experiment::Driver;
use cellcc_runner::{Drivers, Request, SeriesDetail, Shard};
use cellcc_units::{Span, printable};
use std::path::{Path, PathBuf};

/// The expected computation of a task by default: SLURM takes about a second to start one.
const TASK: Span = Span::from_secs(60);

/// SLURM's own limit of the tasks of an array, unless its administrator sets another MaxArraySize.
const MOST_TASKS: usize = 1000;

/// The script has the whole plan in it: the Scenario with the flags applied.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc slurm plan.toml > job.sh && sbatch job.sh")]
pub(crate) struct Args {
    /// Scenario file in TOML; flags override it.
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    #[command(flatten)]
    conditions: conditions::Flags,
    #[command(flatten, next_help_heading = "Execution and output")]
    execution: ExecutionArgs,
}

#[derive(Debug, clap::Args)]
struct ExecutionArgs {
    /// Number of tasks of the array [default: one per expected CPU minute, at most 1000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    tasks: Option<u32>,
    /// Number of parallel runs, and CPUs, per task.
    #[arg(long, short, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: u16,
    /// Folder for the shards, which all nodes must see.
    #[arg(long, short, value_name = "DIR", default_value = "shares")]
    out: PathBuf,
    /// Time series and curves to keep: off, sampled (curves: only points that a figure can resolve) or full.
    #[arg(long, value_name = "HOW-MUCH", default_value = "sampled")]
    series: String,
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let Args { execution, .. } = args;
    let program = std::env::current_exe().map_err(Exit::failed)?;
    for (what, path) in [("--out", &execution.out), ("the program's own path", &program)] {
        let text = path.display().to_string();
        if text.contains(char::is_control) {
            // A comment of the script ends with its line, and the next line would be a command.
            return Err(Exit::input(format!(
                "{what}: {} has control characters, which a script cannot hold; choose another folder",
                printable(&text)
            )));
        }
    }
    execution.series.parse::<SeriesDetail>().map_err(|error| Exit::input(format!("--series: {error}")))?;
    let request = compare::with(Request::read(&args.plan)?, &args.conditions)?;
    request.check()?;
    let driver = Drivers::new(&request.file.drivers, &cellcc_experiment::Recordings::default())?;
    let plan = request.plan(&driver, version())?;
    let expected: Vec<Span> = plan.runs.iter().map(|run| driver.expected_time(&run.scenario)).collect();
    let tasks = match execution.tasks {
        Some(tasks) => tasks as usize,
        None => Shard::count_for(&expected, TASK * u64::from(execution.jobs)).min(MOST_TASKS),
    };
    let scenario = request.scenario_toml().map_err(Exit::failed)?;
    print(&script(&program, &scenario, plan.runs.len(), tasks, execution))
}

fn script(program: &Path, scenario: &str, runs: usize, tasks: usize, args: &ExecutionArgs) -> String {
    let (program, out) = (quoted(program), quoted(&args.out));
    let ExecutionArgs { jobs, series, .. } = args;
    let version = version();
    let end = end_marker(scenario);
    format!(
        "\
#!/bin/sh
# Runs: {runs}. Tasks: {tasks}. By cellcc {version}.
#   sbatch --wait THIS_FILE && {program} merge {out}/* --out results
# If tasks fail or are killed, repeat the line to finish them.
#SBATCH --job-name=cellcc
#SBATCH --array=1-{tasks}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={jobs}
set -e
share={out}/\"$SLURM_ARRAY_TASK_ID\"
mkdir -p \"$share\"
exec {program} compare --scenario /dev/stdin --shard \"$SLURM_ARRAY_TASK_ID/{tasks}\" --jobs {jobs} \\
    --series {series} --resume --out \"$share\" --quiet <<'{end}'
{scenario}{end}
"
    )
}

/// A word that is no line of the text.
fn end_marker(text: &str) -> String {
    let mut marker = "PLAN".to_owned();
    while text.lines().any(|line| line == marker) {
        marker.push('_');
    }
    marker
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_in_the_script_ends_at_its_own_end() {
        assert_eq!(end_marker("title = 'PLAN'\n"), "PLAN");
        assert_eq!(end_marker("title = \"\"\"\nPLAN\nPLAN_\n\"\"\""), "PLAN__");
    }
}

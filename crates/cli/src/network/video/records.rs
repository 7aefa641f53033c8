//! Runs as Records, in a folder that `report`, `plot` and `export` take as any other.

use super::outcome::{Outcome, Run};
use crate::conditions;
use crate::exit::Exit;
use crate::network::emulator::shell;
use cellcc_experiment::{
    BROWSER, Column, Driver, FlowRecord, FlowSetup, Metrics, Offset, Plan, PlanFile, PlannedRun, Record,
    ResolveError, Resolved, RunError, RunId, SCHEMA_VERSION, Scenario, Series, Source,
};
use cellcc_runner::{Existing, OutputFolder, Runner, SeriesDetail, traces};
use cellcc_statistics::mean;
use cellcc_units::{Span, Time};
use cellcc_version::VERSION;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

/// Samples come once a second.
const BIN: Span = Span::from_secs(1);

/// Finished runs, as a driver: each hands out its Record, or the reason why it is invalid.
struct Ended<'a>(&'a [Run]);

impl Driver for Ended<'_> {
    fn resolve(&self, _: &mut Scenario) -> Result<(), ResolveError> {
        Ok(())
    }

    fn run(&self, scenario: &Resolved) -> Result<Record, RunError> {
        let run = self.0.iter().find(|run| run.is(scenario.seed as u32, &scenario.scheme));
        let run = run.ok_or_else(|| RunError("there is no such run".into()))?;
        let outcome = run.sound().ok_or_else(|| RunError(run.spoilt.join("; ")))?;
        Ok(record(run, outcome, scenario))
    }
}

/// Writes the Records of all sound runs into the folder.
pub(crate) fn write(
    out: OutputFolder,
    runs: &[Run],
    down: &str,
    path: &conditions::Flags<true>,
    duration: Span,
) -> Result<OutputFolder, Exit> {
    let file = shell::with_path(None, path)?;
    let planned = runs.iter().map(|run| scenario(run, down, &file, duration));
    let planned = planned.map(|scenario| {
        let scenario = Resolved::by(&Ended(runs), scenario).expect("ended runs refuse nothing");
        PlannedRun { id: RunId::of(&scenario, VERSION), scenario }
    });
    let plan = Plan {
        title: format!("In a browser, behind {down}"),
        baseline: String::new(),
        version: VERSION.into(),
        runs: planned.collect(),
    };
    let runner = Runner {
        out,
        jobs: NonZeroUsize::MIN,
        shard: None,
        existing: Existing::Replace,
        series: SeriesDetail::default(),
        command: std::env::args().collect(),
        scenario: String::new(),
    };
    runner.run(&plan, &Ended(runs), &(), &AtomicBool::new(false))?;
    Ok(runner.out)
}

fn scenario(run: &Run, down: &str, file: &PlanFile, duration: Span) -> Scenario {
    let flow = FlowSetup {
        scheme: run.scheme.clone(),
        start: Time::ZERO,
        stop: None,
        source: Source::Bulk,
        user: 0,
        extra_rtt: Span::ZERO,
        initial_window: None,
    };
    let mut endpoint = file.endpoint.clone();
    endpoint.series_bin = BIN;
    Scenario {
        scheme: run.scheme.clone(),
        variation: String::new(),
        driver: BROWSER.into(),
        trace: traces::normal(down),
        trace_sha256: String::new(),
        seed: run.run.into(),
        offset: Offset::Fixed,
        trace_offset: Span::ZERO,
        duration,
        warm_up: Span::ZERO,
        path: file.path.clone().into(),
        endpoint: endpoint.into(),
        netassist: file.netassist.clone().into(),
        cell: None,
        flows: vec![flow],
    }
}

fn record(run: &Run, outcome: &Outcome, scenario: &Scenario) -> Record {
    let of_link = run.link.as_ref().map(super::link::Link::metrics);
    let of_link = of_link.unwrap_or(Metrics { utilisation: f64::NAN, ..Metrics::default() });
    let total = metrics(outcome, scenario.duration, of_link);
    let flow = FlowRecord { scheme: run.scheme.clone(), metrics: total.clone(), ..FlowRecord::default() };
    let before = run.link.iter().filter(|link| link.before_s > 0.0).map(|link| {
        format!(
            "the trace begins {:.1} s before the page; the link's delays are in whole milliseconds",
            link.before_s
        )
    });
    Record {
        schema: SCHEMA_VERSION,
        id: String::new(),
        version: VERSION.into(),
        driver: BROWSER.into(),
        scenario: scenario.clone(),
        total,
        jain_index: None,
        flows: vec![flow],
        notes: before.collect(),
        real_time: None,
        series: series(run, scenario.series_bins()),
        curves: Vec::new(),
    }
}

/// The page's measurements, added to those of the link.
fn metrics(outcome: &Outcome, duration: Span, of_link: Metrics) -> Metrics {
    match outcome {
        Outcome::Film(film) => {
            let shown_s = duration.as_secs_f64() - film.startup_s.unwrap_or(0.0);
            Metrics {
                startup_s: film.startup_s,
                media_rate_mbit_s: mean(&film.segments_mbit_s),
                freezes: Some(film.stalls() as u64),
                freeze_ratio: (shown_s > 0.0).then(|| film.stalled_s() / shown_s),
                rate_switches: Some(film.switches() as u64),
                qoe_lin: Some(film.qoe()),
                ..of_link
            }
        }
        Outcome::Page(page) => Metrics { completion_time_s: Some(page.load_s), ..of_link },
        Outcome::Frames(frames) => Metrics {
            frames: Some(frames.frames as u64),
            frame_delay_p50_ms: Some(frames.delay_p50_ms),
            frame_delay_p95_ms: Some(frames.delay_p95_ms),
            ..of_link
        },
    }
}

/// A value a second; where several samples fall into one, the last.
fn series(run: &Run, bins: usize) -> Series {
    let mut columns: Vec<Column> = run.link.iter().flat_map(super::link::Link::columns).collect();
    if !run.samples.is_empty() {
        let (mut buffer, mut rate) = (vec![f32::NAN; bins], vec![f32::NAN; bins]);
        for sample in &run.samples {
            let Some(buffer) = buffer.get_mut(sample.at_s as usize) else { continue };
            *buffer = sample.buffer_s as f32;
            rate[sample.at_s as usize] = sample.rate_mbit_s.map_or(f32::NAN, |rate| rate as f32);
        }
        columns.push(Column { name: "flow0.media_rate_mbit_s".into(), values: rate });
        columns.push(Column { name: "flow0.buffer_s".into(), values: buffer });
    }
    columns.iter_mut().for_each(|column| column.values.resize(bins, f32::NAN));
    Series { bin: BIN, columns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::video;
    use cellcc_runner::Results;
    use clap::FromArgMatches;

    /// The format of `runs.jsonl`; an invalid run may have no link.
    const RUNS: &str = r#"{"run":1,"scheme":"cubic","spoilt":[],"outcome":{"film":{"startup_s":1.0,"stalls_s":[0.5],"segments_mbit_s":[1.0,4.0],"best_mbit_s":8.0,"frames":200.0,"frames_dropped":1.0}},"samples":[{"at_s":1.2,"buffer_s":4.5,"rate_mbit_s":1.0}],"link":{"before_s":0.5,"time_s":1.0,"queueing_p95_ms":80,"seconds":[{"offered_mbit":5.0,"carried_mbit":4.0,"arrived_packets":10,"dropped_packets":1,"departed_packets":8,"delay_sum_ms":320,"delay_max_ms":90}]}}
{"run":1,"scheme":"tcp:cubic","spoilt":[],"outcome":{"page":{"load_s":2.5,"content_s":0.5}},"samples":[]}
{"run":2,"scheme":"cubic","spoilt":["the page did not end"],"outcome":null,"samples":[]}"#;

    #[test]
    fn runs_are_results_as_others_are_and_a_spoilt_one_has_failed() {
        let runs: Vec<Run> = RUNS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let command = <conditions::Flags<true> as clap::Args>::augment_args(clap::Command::new("video"));
        let flags = command.get_matches_from(["video", "--rtt", "40ms", "--queue", "100pkt"]);
        let flags = conditions::Flags::from_arg_matches(&flags).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let out = OutputFolder::create(folder.path()).unwrap();
        let written = write(out, &runs, "lte-drive", &flags, Span::from_secs(3));
        assert!(written.is_ok());
        let Results { info, records } = Results::read(folder.path()).unwrap();
        let [failure] = &info.failures[..] else { panic!("{:?}", info.failures) };
        assert_eq!(failure.cause, "the page did not end");
        let [film, page] = &records[..] else { panic!("{records:?}") };
        let path = &film.scenario.path;
        assert_eq!((path.rtt, path.reverse.queue.to_string()), (Span::from_millis(40), "100pkt".into()));
        assert_eq!((film.total.startup_s, film.total.freeze_ratio), (Some(1.0), Some(0.25)));
        assert_eq!((film.total.throughput_mbit_s, film.total.queueing_delay_mean_ms), (4.0, Some(40.0)));
        let buffer = film.series.column("flow0.buffer_s").unwrap();
        assert!(buffer[0].is_nan() && buffer[1] == 4.5 && buffer[2].is_nan(), "{buffer:?}");
        assert_eq!(page.total.completion_time_s, Some(2.5));
        assert!(page.total.utilisation.is_nan(), "nobody has measured it");
    }

    #[test]
    fn a_spoilt_run_and_one_that_is_not_whole_are_run_again() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(video::RUNS), format!("{RUNS}\n{{\"run\":3")).unwrap();
        let Ok(runs) = video::sound(folder.path()) else { panic!("not read") };
        let runs: Vec<_> = runs.iter().map(|run| (run.run, run.scheme.as_str())).collect();
        assert_eq!(runs, [(1, "cubic"), (1, "tcp:cubic")]);
    }
}

use super::*;
use crate::Claims;
use crate::runs::{DataRuns, Outcome, Run};
use cellcc_experiment::{Column, Series};
use cellcc_units::Span;
use std::sync::Arc;

const FIGURE: &str = "[data.sa]\nscenario = 's.toml'\n\n[[figure]]\nid = 'REM-Fig-6'\nsource = '4.1 Fig 6'\nsays = 'use'\n\
                      lines = ['cubic', { name = 'BBR', s = 'bbr' }]\npanels = [\n\
                      { axes = ['RTT', 'use'], x = 'sa: rtt_mean_ms($s)', y = 'sa: utilisation($s)',\n\
                      paper = [{ line = 'BBR', x = '30', y = '0.8' }, { y = '0.5', says = 'half' }] },\n\
                      { axes = ['s', 'Mbit/s'], y = 'sa: window_mean($s; throughput_mbit_s, 1s..)' },\n]\n";

fn figure(text: &str) -> Result<Figure, String> {
    let claims = Claims::read([("claims/reminis.toml", text)], ("recordings.toml", ""));
    claims.map(|claims| claims.figures[0].clone()).map_err(|error| error.to_string())
}

/// CUBIC with an RTT of 50 ms and all of the link, and BBR, which has not been run.
fn runs() -> DataRuns {
    let column = Column { name: "flow0.throughput_mbit_s".into(), values: vec![1.0, 2.0, 4.0, 8.0] };
    let series = Series { bin: Span::from_millis(500), columns: vec![column] };
    let total = [("rtt_mean_ms", 50.0), ("utilisation", 1.0)].map(|(key, value)| (key.into(), value));
    let outcome = Arc::new(Outcome { total: total.into(), series, ..Outcome::default() });
    let run = |scheme: &str, outcome| Run {
        scheme: scheme.into(),
        conditions: Vec::new(),
        driver: "sim".into(),
        trace: "3g".into(),
        seed: 1,
        outcome,
    };
    DataRuns::from([("sa".into(), vec![run("cubic", Some(outcome)), run("bbr", None)])])
}

#[test]
fn a_figure_has_what_was_run_and_what_the_paper_says() {
    let drawn = figure(FIGURE).unwrap().drawn(&runs()).unwrap();
    let [scatter, over_time] = drawn.as_slice() else { panic!("{drawn:?}") };
    let of: Vec<_> = scatter.iter().map(|mark| mark.of.clone()).collect();
    let paper = |line, says: &str| PointsOf::Paper(line, says.into());
    assert_eq!(of, [PointsOf::Each(0), paper(Some(1), ""), paper(None, "half")]);
    assert_eq!((scatter[0].points.as_slice(), scatter[1].points[0]), (&[(50.0, 1.0)][..], (30.0, 0.8)));
    assert!(scatter[2].points[0].0.is_nan());
    assert_eq!(over_time[0].points, [(1.0, 4.0), (1.5, 8.0)]);
    assert_eq!(over_time.len(), 1);
}

#[test]
fn a_list_is_a_line_and_as_long_over_x_as_it_is_high() {
    let over = |x: &str| FIGURE.replace("sa: rtt_mean_ms($s)", x).replace("sa: utilisation($s)", "[1, 2]");
    let drawn = figure(&over("[10, 20]")).unwrap().drawn(&runs()).unwrap();
    assert_eq!(
        (&drawn[0][0].of, &drawn[0][0].points[..]),
        (&PointsOf::Path(0), &[(10.0, 1.0), (20.0, 2.0)][..])
    );
    let error = figure(&over("[10, 20, 30]")).unwrap().drawn(&runs()).unwrap_err().to_string();
    assert_eq!(error, "claims/reminis.toml:4: REM-Fig-6: x has 3 numbers, and y has 2: [1, 2]");
    let named = over("[1]").replace("x = '[1]'", "names = ['a', 'b']");
    assert_eq!(figure(&named).unwrap().drawn(&runs()).unwrap()[0][0].points, [(0.0, 1.0), (1.0, 2.0)]);
}

#[test]
fn what_is_wrong_is_named_with_file_and_line() {
    for (from, to, expected) in [
        ("utilisation($s)", "utilsation($s)", "reminis.toml:10: REM-Fig-6, in `utilsation"),
        ("line = 'BBR'", "line = 'bbr'", "reminis.toml:4: REM-Fig-6: `bbr` is not among its lines"),
        ("x = '30', y = '0.8'", "says = 'x'", "a value of the paper has `x`, `y` or both"),
        (
            "axes = ['RTT', 'use']",
            "axes = ['RTT', 'use'], names = ['a']",
            "a panel has `x`, `names`, or neither",
        ),
        ("says = 'use'", "sys = 'use'", "unknown field `sys`"),
    ] {
        let error = figure(&FIGURE.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(expected), "{to}: `{expected}` is not in: {error}");
    }
    for (from, to, expected) in [
        (
            "lines = ['cubic'",
            "lines = ['cubc'",
            "REM-Fig-6, in `utilisation($s)`: there are no runs of `cubc`",
        ),
        ("window_mean($s; throughput_mbit_s, 1s..)", "power($s)", "over time, `y` is the `window_mean"),
    ] {
        let error = figure(&FIGURE.replacen(from, to, 1)).unwrap().drawn(&runs()).unwrap_err().to_string();
        assert!(error.contains(expected), "{to}: `{expected}` is not in: {error}");
    }
}

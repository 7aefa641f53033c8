//! The texture against recordings of every 100 ms: the variation that averaging over seconds removes, and the texture restores.

use cellcc_link::{Capacity, CapacitySpec, trace};
use cellcc_units::{Rate, Span, Time};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn seconds(link: &Capacity) -> u64 {
    link.period().unwrap().as_nanos() / 1_000_000_000
}

fn rate(link: &Capacity, from: u64, millis: u64) -> Rate {
    link.rate_in(at(from), at(from + millis))
}

/// The trace as recorded with one rate per second.
fn averaged(link: &Capacity) -> Capacity {
    let steps = (0..seconds(link)).map(|second| (Span::from_secs(1), rate(link, second * 1000, 1000)));
    Capacity::from_steps(steps.collect()).unwrap()
}

/// The variation of 100 ms in each second of at least 5 Mbit/s.
fn variations(link: &Capacity) -> Vec<f64> {
    let of_second = |second: u64| {
        let tenths = (0..10).map(|tenth| rate(link, second * 1000 + tenth * 100, 100).as_mbit_per_sec());
        let tenths: Vec<f64> = tenths.collect();
        let mean = tenths.iter().sum::<f64>() / 10.0;
        let squares: f64 = tenths.iter().map(|rate| (rate - mean) * (rate - mean)).sum();
        (mean >= 5.0).then_some((squares / 10.0).sqrt() / mean)
    };
    (0..seconds(link)).filter_map(of_second).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean, median and 90th percentile.
fn summary(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[(share * (values.len() - 1) as f64).round() as usize];
    [mean(&values), at(0.5), at(0.9)]
}

fn recordings(root: &Path, runs: [&str; 2], kind: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(root.join("5g-100ms")).unwrap().map(|file| file.unwrap().path()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.contains(kind) && runs.iter().any(|run| name.ends_with(&format!("{run}.mbps")))
    });
    found.sort();
    assert!(!found.is_empty(), "{kind} {runs:?}");
    found
}

/// The variations of a link with one rate per second and this texture.
fn textured(flat: &Arc<Capacity>, texture: &str, seed: u64) -> Vec<f64> {
    let spec: CapacitySpec = format!("flat,texture={texture},texture-seed={seed}").parse().unwrap();
    variations(&spec.open(|_| Some(Arc::clone(flat))).unwrap().capacity)
}

/// Runs where `CELLCC_TRACES` names the folder of the real traces.
#[test]
fn seconds_vary_as_in_other_runs_of_the_same_campaign() {
    let Some(root) = std::env::var_os("CELLCC_TRACES") else { return };
    for kind in ["driving-5g", "walking-5g"] {
        let library = tempfile::tempdir().unwrap();
        for path in recordings(Path::new(&root), ["run01", "run05"], kind) {
            fs::copy(&path, library.path().join(path.file_name().unwrap())).unwrap();
        }
        let (mut recorded, mut shapes, mut process) = (Vec::new(), Vec::new(), Vec::new());
        for path in recordings(Path::new(&root), ["run03", "run07"], kind) {
            let link = trace::read(&path).unwrap().capacity;
            recorded.extend(variations(&link));
            let flat = Arc::new(averaged(&link));
            for seed in 1..=5 {
                shapes.extend(textured(&flat, &format!("shapes:{}", library.path().display()), seed));
                process.extend(textured(&flat, "mmwave", seed));
            }
        }
        let [recorded, shapes, process] = [recorded, shapes, process].map(|values| mean(&values));
        // From different runs on one route.
        assert!((shapes / recorded - 1.0).abs() < 0.25, "{kind}: shapes {shapes}, recorded {recorded}");
        // Fitted to all of them together.
        assert!((process / recorded - 1.0).abs() < 0.5, "{kind}: process {process}, recorded {recorded}");
    }
}

/// Downlinks of 5G SA and NSA: every second run has the mean, the median and the 90th percentile that the shapes of the others
/// give it. All but the median of SA, which is 29 % too low with seven runs for seven (docs/evidence/radio.md).
#[test]
fn seconds_of_5g_sa_and_nsa_vary_as_in_every_second_run() {
    let Some(root) = std::env::var_os("CELLCC_TRACES") else { return };
    for (kind, misses_median) in [("sa-dl-", true), ("nsa-dl-", false)] {
        let files = fs::read_dir(Path::new(&root).join("5g-sa")).unwrap().map(|file| file.unwrap().path());
        let is_kind =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(kind));
        let mut runs: Vec<PathBuf> = files.filter(is_kind).collect();
        runs.sort();
        let library = tempfile::tempdir().unwrap();
        for path in runs.iter().step_by(2) {
            fs::copy(path, library.path().join(path.file_name().unwrap())).unwrap();
        }
        let (mut recorded, mut shapes) = (Vec::new(), Vec::new());
        for path in runs.iter().skip(1).step_by(2) {
            let link = trace::read(path).unwrap().capacity;
            recorded.extend(variations(&link));
            let flat = Arc::new(averaged(&link));
            let texture = format!("shapes:{}", library.path().display());
            (1..=5).for_each(|seed| shapes.extend(textured(&flat, &texture, seed)));
        }
        for (place, (shapes, recorded)) in summary(shapes).iter().zip(summary(recorded)).enumerate() {
            let is_missed = misses_median && place == 1;
            assert!(
                is_missed || (shapes / recorded - 1.0).abs() < 0.25,
                "{kind}{place}: {shapes} for {recorded}"
            );
        }
    }
}

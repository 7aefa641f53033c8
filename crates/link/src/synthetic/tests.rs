use super::fitted::LINKS;
use super::statistics::{STATISTICS, Series, Tolerance, mean, mean_jump};
use super::*;
use cellcc_units::Time;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// How many links of each name are measured. The mean level of 180 s differs from seed to seed as it does from trace
/// to trace; with this many, the mean over the seeds is certain to 4 % (one standard error). Links without slots
/// cost a hundredth.
const SEEDS: u64 = 200;
const SEEDS_WITHOUT_SLOTS: u64 = 2_000;

fn synthetic(link: &Fitted) -> Vec<Series> {
    let seeds = if link.bursts.is_some() { SEEDS } else { SEEDS_WITHOUT_SLOTS };
    (1..=seeds).map(|seed| series(link, &generate(link.name, seed, DEFAULT_LENGTH).unwrap())).collect()
}

/// The statistics of every link, in the order of [`LINKS`]; measured once for all tests.
static SYNTHETIC: LazyLock<Vec<Vec<Option<f64>>>> =
    LazyLock::new(|| LINKS.iter().map(|link| measure(&synthetic(link))).collect());

fn series(link: &Fitted, steps: &[(Span, Rate)]) -> Series {
    let rates: Vec<f64> = steps.iter().map(|(_, rate)| rate.as_mbit_per_sec()).collect();
    match link.bursts {
        None => Series { seconds: rates, slots: None },
        Some(_) => of_slots(&rates, true),
    }
}

fn of_slots(rates: &[f64], keep: bool) -> Series {
    let slots: Vec<_> = rates.as_chunks::<SLOTS_PER_SECOND>().0.to_vec();
    let seconds = slots.iter().map(|second| second.iter().sum::<f64>() / SLOTS_PER_SECOND as f64).collect();
    Series { seconds, slots: keep.then_some(slots) }
}

/// The real traces behind a synthetic link: (folder, prefix of the file name, suffix of it). Downlinks
/// only, and without `rapidGold` of 3g-hspa, which is synthetic itself.
fn sources(link: &str) -> &'static [(&'static str, &'static str, &'static str)] {
    match link {
        "5g-mmwave-walk" => &[("5g-mmwave", "", "-walking.mbps")],
        "5g-mmwave-drive" => &[("5g-mmwave", "", "-driving.mbps")],
        "lte-drive" => &[
            ("lte-mahimahi", "", "LTE-driving-2016.down"),
            ("lte-mahimahi", "", "LTE-driving.down"),
            ("lte-mahimahi", "", "LTE-driving.rebuilt.down"),
            ("lte-nyc", "", "taxi1.mahi"),
            ("lte-nyc", "", "bus.mahi"),
        ],
        "lte-static" => &[
            ("lte-nyc", "", "home1.mahi"),
            ("lte-nyc", "", "timessquare.mahi"),
            ("lte-mahimahi", "", "LTE-short.down"),
        ],
        "3g" => &[
            ("3g-nyc", "downlink", ".mahi"),
            ("3g-hspa", "C", ".mahi"),
            ("3g-hspa", "Highway", ".mahi"),
            ("lte-mahimahi", "", "UMTS-driving.down"),
        ],
        other => panic!("{other} has no real traces"),
    }
}

fn real(root: &Path, link: &Fitted) -> Vec<Series> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for (folder, begin, end) in sources(link.name) {
        let before = paths.len();
        let folder = root.join(folder);
        let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let files = files.map(|file| file.unwrap().path());
        paths.extend(files.filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(begin) && name.ends_with(end)
        }));
        assert!(paths.len() > before, "no {begin}*{end} in {}", folder.display());
    }
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// Both forms in a few lines, so that a fault in the crate's parsers cannot hide one of the links.
fn read(path: &Path) -> Series {
    let text = fs::read_to_string(path).unwrap();
    if path.extension().is_some_and(|extension| extension == "mbps") {
        let rate = |line: &str| line.split_whitespace().nth(1).unwrap().parse().unwrap();
        return Series { seconds: text.lines().map(rate).collect(), slots: None };
    }
    let millis: Vec<usize> = text.split_whitespace().map(|line| line.parse().unwrap()).collect();
    let mut slots = vec![0.0; millis[millis.len() - 1] / 1000 * SLOTS_PER_SECOND];
    for time in millis {
        if let Some(slot) = slots.get_mut(time / 10) {
            *slot += 1500.0 * 8.0 / 10e-3 / 1e6;
        }
    }
    // Rebuilt from counts of 50 ms: nothing shorter can be learnt from it.
    of_slots(&slots, !path.to_str().unwrap().contains(".rebuilt."))
}

fn shown(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(value) if value >= 99.5 => format!("{value:.0}"),
        Some(value) if value >= 9.95 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// A Markdown table: a row for each statistic, a column for each link; `cell` is given both positions.
fn table(cell: impl Fn(usize, usize) -> String) -> String {
    let row = |first: &str, cells: Vec<String>| format!("| {first} | {} |\n", cells.join(" | "));
    let mut text = row("", LINKS.iter().map(|link| link.name.to_string()).collect());
    text += &row("---", vec!["---".into(); LINKS.len()]);
    for (index, statistic) in STATISTICS.iter().enumerate() {
        text += &row(statistic.name, (0..LINKS.len()).map(|link| cell(link, index)).collect());
    }
    text
}

fn measure(traces: &[Series]) -> Vec<Option<f64>> {
    STATISTICS.iter().map(|statistic| (statistic.of)(traces)).collect()
}

#[test]
fn the_links_are_what_the_fit_made_them() {
    insta::assert_snapshot!(table(|link, index| shown(SYNTHETIC[link][index])), @r"
    |  | 5g-mmwave-walk | 5g-mmwave-drive | lte-drive | lte-static | 3g |
    | --- | --- | --- | --- | --- | --- |
    | mean, Mbit/s | 582 | 383 | 9.60 | 10.7 | 5.84 |
    | std, Mbit/s | 477 | 419 | 8.28 | 6.66 | 3.65 |
    | std of the means of 180 s | 253 | 189 | 4.90 | 4.53 | 3.11 |
    | p5, Mbit/s | 8.81 | 11.5 | 0.80 | 2.38 | 0.51 |
    | p50, Mbit/s | 533 | 127 | 6.91 | 9.63 | 5.20 |
    | p95, Mbit/s | 1440 | 1268 | 24.8 | 22.1 | 12.0 |
    | mean 1-s jump, Mbit/s | 112 | 97.6 | 2.33 | 2.51 | 0.94 |
    | largest 1-s jump in 180 s (median) | 786 | 900 | 15.5 | 13.7 | 4.48 |
    | seconds below 1 Mbit/s, % | 2.38 | 2.23 | 6.10 | 0.95 | 9.40 |
    | mean length of such an outage, s | 3.40 | 3.37 | 3.36 | 2.13 | 4.10 |
    | CV of 10-ms rates | - | - | 0.79 | 0.64 | 0.69 |
    | CV of 20-ms rates | - | - | 0.65 | 0.53 | 0.51 |
    | CV of 100-ms rates | - | - | 0.37 | 0.33 | 0.25 |
    ");
}

/// Runs where `CELLCC_TRACES` names the folder of the real traces. The page in `docs` is the record of it.
#[test]
fn the_links_behave_like_the_real_traces_they_stand_for() {
    let Some(root) = std::env::var_os("CELLCC_TRACES") else {
        writeln!(std::io::stderr(), "left out: CELLCC_TRACES names no folder of real traces").unwrap();
        return;
    };
    let real: Vec<_> = LINKS.iter().map(|link| measure(&real(Path::new(&root), link))).collect();

    let table = table(|link, index| match real[link][index] {
        None => "-".into(),
        known => format!("{} / {}", shown(known), shown(SYNTHETIC[link][index])),
    });
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/synthetic-links.md");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains(&table), "docs/synthetic-links.md should contain\n{table}");

    let mut misses = Vec::new();
    for ((link, real), synthetic) in LINKS.iter().zip(&real).zip(SYNTHETIC.iter()) {
        for ((statistic, real), synthetic) in STATISTICS.iter().zip(real).zip(synthetic) {
            let (Some(real), Some(synthetic)) = (real, synthetic) else { continue };
            let allowed = match statistic.tolerance {
                Tolerance::Relative(share) => share * real,
                Tolerance::Absolute(amount) => amount,
                Tolerance::Free => continue,
            };
            if (synthetic - real).abs() > allowed {
                misses.push(format!("{}: {}", link.name, statistic.name));
            }
        }
    }
    assert_eq!(misses, Vec::<String>::new());
}

#[test]
fn the_typical_seed_is_the_first_that_is_like_the_average_of_all() {
    let column = |of: &str| STATISTICS.iter().position(|statistic| statistic.name == of).unwrap();
    let (means, jumps) = (column("mean, Mbit/s"), column("mean 1-s jump, Mbit/s"));
    for (link, all) in LINKS.iter().zip(SYNTHETIC.iter()) {
        let near = |value: f64, wanted: Option<f64>, share| (value / wanted.unwrap() - 1.0).abs() <= share;
        let is_typical = |&seed: &u64| {
            let one = [series(link, &generate(link.name, seed, DEFAULT_LENGTH).unwrap())];
            near(mean(&one), all[means], 0.05) && near(mean_jump(&one), all[jumps], 0.10)
        };
        assert_eq!((1..).find(is_typical), Some(link.typical_seed), "{}", link.name);
    }
}

#[test]
fn every_link_has_a_distribution_that_rises_from_0_to_1() {
    for link in &LINKS {
        assert_eq!((link.rates[0].0, link.rates[link.rates.len() - 1].0), (0.0, 1.0), "{}", link.name);
        assert!(link.rates.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{}", link.name);
        assert!(link.place + link.drift <= 1.0, "{}", link.name);
    }
}

#[test]
fn an_unknown_name_gives_no_link() {
    assert!(generate("6g", 1, DEFAULT_LENGTH).is_none());
}

#[test]
fn the_same_seed_gives_the_same_link_and_another_seed_another() {
    for link in names() {
        let made =
            |seed| round(link.name, seed, DEFAULT_LENGTH).map(|Round { rates, delays }| (rates, delays));
        assert_eq!(made(1), made(1));
        assert_eq!(
            made(2) == made(1),
            link.name == "wifi-suspension",
            "{}: nothing is drawn in a suspension",
            link.name
        );
    }
}

#[test]
fn a_link_lasts_as_long_as_asked_and_begins_like_a_shorter_one() {
    for link in names() {
        let long = generate(link.name, 7, Span::from_secs(20)).unwrap();
        let short = generate(link.name, 7, Span::from_millis(1_505)).unwrap();
        let lasts = |steps: &[(Span, Rate)]| steps.iter().fold(Span::ZERO, |sum, &(span, _)| sum + span);
        assert_eq!(lasts(&long), Span::from_secs(20));
        assert_eq!(lasts(&short), Span::from_millis(1_505));
        assert!(short.iter().zip(&long).all(|(short, long)| short.1 == long.1), "{}", link.name);
        assert_eq!(generate(link.name, 7, Span::ZERO), Some(Vec::new()));
    }
}

#[test]
fn an_endless_link_is_cut_to_a_day() {
    let steps = generate("5g-mmwave-walk", 1, Span::MAX).unwrap();
    assert_eq!(steps.len(), 86_400);
}

#[test]
fn a_suspension_holds_what_comes_and_then_lets_it_go_at_once() {
    let link = link("wifi-suspension").unwrap();
    let mbit = |from, to| {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        link.rate_in(at(from), at(to)).as_mbit_per_sec().round()
    };
    assert_eq!(
        [mbit(0, 1799), mbit(1800, 1999), mbit(1800, 2000), mbit(2000, 3799)],
        [50.0, 0.0, 50.0, 50.0]
    );
}

#[test]
fn the_delay_of_a_scripted_link_repeats_with_it_and_follows_its_parts() {
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    for (name, from, to, longest) in [("wifi-spikes", 9_000, 10_000, 140), ("wifi-fade", 1_000, 3_000, 250)] {
        let link = link(name).unwrap();
        let during = (from..to).map(|millis| link.delay_at(at(millis))).max().unwrap();
        assert!(during > Span::from_millis(100) && during <= Span::from_millis(longest), "{name}: {during}");
        assert!((to..to + 7_000).all(|millis| link.delay_at(at(millis)).is_zero()), "{name}");
        let cut = link.cut(Span::from_secs(9), None).unwrap();
        let later = link.beginning_at(Span::from_secs(9));
        for millis in (0..20_000).step_by(7) {
            let own = link.delay_at(at(9_000 + millis));
            assert_eq!(
                [cut.delay_at(at(millis)), later.delay_at(at(millis))],
                [own; 2],
                "{name} at {millis} ms"
            );
            assert_eq!(
                link.delay_at(at(180_000 + millis)),
                link.delay_at(at(millis)),
                "{name} at {millis} ms"
            );
        }
        let refused = format!("join({name};3g)").parse::<crate::CapacitySpec>().unwrap().open(super::link);
        assert!(refused.unwrap_err().to_string().contains("delay of its own"), "{name}");
    }
}

/// Mean, standard deviation, three percentiles and the mean change from one to the next, of rates of half a second.
fn halves(traces: &[Vec<f64>]) -> [f64; 6] {
    let mut all: Vec<f64> = traces.iter().flatten().copied().collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let middle = mean(&all);
    let deviation =
        libm::sqrt(mean(&all.iter().map(|rate| (rate - middle) * (rate - middle)).collect::<Vec<_>>()));
    let changes: Vec<f64> =
        traces.iter().flat_map(|trace| trace.windows(2).map(|pair| (pair[1] - pair[0]).abs())).collect();
    all.sort_by(f64::total_cmp);
    let [p5, p50, p95] = [0.05, 0.5, 0.95].map(|share| all[(share * all.len() as f64) as usize]);
    [middle, deviation, p5, p50, p95, mean(&changes)]
}

/// Runs where `CELLCC_TRACES` names the folder of the real traces, as the other table.
#[test]
fn the_starlink_link_behaves_like_recorded_downlinks() {
    let made = |seed| {
        let capacity = Capacity::from_steps(generate("starlink-15s", seed, DEFAULT_LENGTH).unwrap()).unwrap();
        let half = |index| {
            let from = Time::ZERO + Span::from_millis(500) * index;
            capacity.rate_in(from, from + Span::from_millis(500)).as_mbit_per_sec()
        };
        (0..360).map(half).collect::<Vec<f64>>()
    };
    let synthetic = halves(&(1..=SEEDS).map(made).collect::<Vec<_>>());
    let is_typical = |&seed: &u64| (halves(&[made(seed)])[0] / synthetic[0] - 1.0).abs() <= 0.05;
    let starlink = names().iter().find(|link| link.name == "starlink-15s").unwrap();
    assert_eq!((1..).find(is_typical), Some(starlink.typical_seed));
    let Some(root) = std::env::var_os("CELLCC_TRACES") else {
        writeln!(std::io::stderr(), "left out: CELLCC_TRACES names no folder of real traces").unwrap();
        return;
    };
    let mut real = Vec::new();
    for file in fs::read_dir(Path::new(&root).join("starlink")).unwrap() {
        let path = file.unwrap().path();
        if path.to_str().unwrap().contains("starlink-dl-") {
            real.push(read(&path).seconds);
        }
    }
    let real = halves(&real);
    let names = ["mean", "std", "p5", "p50", "p95", "mean change per half second"];
    let mut table = String::new();
    for (name, (real, synthetic)) in names.iter().zip(real.iter().zip(&synthetic)) {
        table += &format!("| {name} | {real:.0} / {synthetic:.0} |\n");
    }
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/synthetic-links.md")).unwrap();
    assert!(page.contains(&table), "docs/synthetic-links.md should contain\n{table}");
    for (name, (real, synthetic)) in names.iter().zip(real.iter().zip(&synthetic)) {
        assert!(*name == "p5" || (synthetic / real - 1.0).abs() < 0.15, "{name}: {synthetic} for {real}");
    }
}

use super::*;
use crate::CapacitySpec;
use cellcc_units::Bytes;
use std::sync::Arc;

/// Five minutes at levels from 20 to 500 Mbit/s, a step each second.
fn recording() -> Capacity {
    let rate = |second: u64| Rate::from_mbit_per_sec(20.0 + 480.0 * ((second * 37 % 100) as f64 / 99.0));
    Capacity::from_steps((0..300).map(|second| (Span::from_secs(1), rate(second))).collect()).unwrap()
}

fn textured(process: Option<Radio>, slots: Option<Radio>, seed: u64) -> Capacity {
    Texture { wander: process.map(Wander::Process), slots, seed }.add_to(&recording()).unwrap()
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// The coefficients of variation within each second of the rates over so many milliseconds.
fn variations(capacity: &Capacity, millis: u64) -> Vec<f64> {
    let of_second = |second: u64| {
        let begins = (0..1000 / millis).map(|bin| second * 1000 + bin * millis);
        let rates: Vec<f64> =
            begins.map(|from| capacity.rate_in(at(from), at(from + millis)).as_mbit_per_sec()).collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let squares: f64 = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum();
        libm::sqrt(squares / rates.len() as f64) / mean
    };
    (0..300).map(of_second).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn every_second_carries_what_it_did() {
    let flat = recording();
    for radio in [Radio::MmWave, Radio::MidBand, Radio::Lte] {
        let wandering = textured(Some(radio), None, 1);
        for second in 0..300 {
            let carried =
                |link: &Capacity| link.bytes_between(at(second * 1000), at(second * 1000 + 1000)).as_f64();
            // Rates are whole bytes a second.
            assert!((carried(&wandering) - carried(&flat)).abs() <= 2.0, "{radio}, second {second}");
        }
        let all = |link: &Capacity| link.bytes_between(at(0), at(300_000)).as_f64();
        let with_slots = textured(Some(radio), Some(radio), 1);
        assert!((all(&with_slots) / all(&flat) - 1.0).abs() < 1e-3, "{radio}");
    }
}

#[test]
fn a_second_varies_as_was_measured_at_its_level_and_change() {
    // ln CV = a + b ln c + d ln l + N(0, e): of the recording above, whose level changes by 160 Mbit/s a second.
    for (radio, fit) in
        [(Radio::MmWave, [-2.04, 0.31, -0.79, 0.78]), (Radio::MidBand, [-2.49, 0.10, -1.19, 0.59])]
    {
        let flat = recording();
        let level = |second: u64| flat.rate_in(at(second * 1000), at(second * 1000 + 1)).as_mbit_per_sec();
        let expected = (1..299).map(|second| {
            let change = (level(second + 1) - level(second - 1)).abs() / (2.0 * level(second));
            fit[0]
                + fit[1] * libm::log(change.max(0.005))
                + fit[2] * libm::log((level(second) / 500.0).clamp(0.02, 1.0))
        });
        let expected = mean(&expected.collect::<Vec<_>>());
        let logs: Vec<f64> = (1..6)
            .flat_map(|seed| variations(&textured(Some(radio), None, seed), 100)[1..299].to_vec())
            .map(libm::log)
            .collect();
        assert!((mean(&logs) - expected).abs() < 0.25, "{radio}: {} for {expected}", mean(&logs));
    }
}

#[test]
fn slots_carry_in_bursts() {
    let link = textured(None, Some(Radio::MidBand), 1);
    // Half a millisecond each: of five slots the last carries nothing, where nothing comes again.
    let carried: Vec<Bytes> = (0..600_000)
        .map(|slot| {
            let from = Time::ZERO + Span::from_micros(slot * 500);
            link.bytes_between(from, from + Span::from_micros(500))
        })
        .collect();
    for (slot, five) in carried.chunks(5).enumerate() {
        let [whole, .., special, uplink] = [five[0], five[1], five[3], five[4]];
        let half = Bytes::new(whole.get() / 2);
        assert!(uplink.is_zero() && special.get().abs_diff(half.get()) <= 1, "{slot}: {five:?}");
    }
}

#[test]
fn the_seed_is_the_texture() {
    let [one, same, other] = [1, 1, 2].map(|seed| textured(Some(Radio::MmWave), Some(Radio::MmWave), seed));
    assert_eq!(one, same);
    assert_ne!(one, other);
}

#[test]
fn a_link_with_a_texture_of_its_own_is_refused() {
    let texture = Texture { wander: Some(Wander::Process(Radio::Lte)), ..Texture::default() };
    let opportunities = Capacity::from_opportunities([1, 2, 1000]).unwrap();
    let fine = Capacity::from_steps(vec![(Span::from_millis(100), Rate::from_mbit_per_sec(1.0)); 2]);
    let fine = fine.and_then(|_| {
        Capacity::from_steps(vec![
            (Span::from_millis(100), Rate::from_mbit_per_sec(1.0)),
            (Span::from_millis(100), Rate::from_mbit_per_sec(2.0)),
        ])
    });
    for link in [opportunities, fine.unwrap()] {
        assert!(matches!(texture.add_to(&link), Err(TextureError::Link(CapacityError::HasTexture))));
    }
    let endless = texture.add_to(&Capacity::unlimited());
    assert!(matches!(endless, Err(TextureError::Link(CapacityError::CutOfEndless))));
}

#[test]
fn the_text_of_a_link_says_its_texture() {
    let open = |text: &str| text.parse::<CapacitySpec>().unwrap().open(|_| Some(Arc::new(recording())));
    let source = open("walk,duration=20s,texture=mmwave,slots=midband,texture-seed=7").unwrap();
    let cut = recording().cut(Span::ZERO, Some(Span::from_secs(20))).unwrap();
    let texture =
        Texture { wander: Some(Wander::Process(Radio::MmWave)), slots: Some(Radio::MidBand), seed: 7 };
    assert_eq!(*source.capacity, texture.add_to(&cut).unwrap());
    let refused = "rain".parse::<Radio>().unwrap_err().to_string();
    assert!(refused.contains("`mmwave`, `midband` or `lte`"), "{refused}");
}

/// Recordings whose seconds all rise from 0.1 to 1.9 of their mean.
fn rising(folder: &std::path::Path) {
    let line = |tenth: u64| {
        let mean = 50.0 + (tenth / 10 * 53 % 100) as f64;
        format!("{:.1} {}\n", tenth as f64 / 10.0, mean * (0.1 + 0.2 * (tenth % 10) as f64))
    };
    std::fs::write(folder.join("rising.mbps"), (0..200).map(line).collect::<String>()).unwrap();
}

#[test]
fn a_second_has_the_shape_of_a_recorded_one() {
    let folder = tempfile::tempdir().unwrap();
    rising(folder.path());
    // A recording of every half second has no shape of a second.
    let half = |at: u64| format!("{:.1} {}\n", at as f64 / 2.0, 50 + 50 * (at % 2));
    std::fs::write(folder.path().join("coarse.mbps"), (0..200).map(half).collect::<String>()).unwrap();
    let texture = Texture { wander: Some(Wander::Shapes(folder.path().into())), ..Texture::default() };
    let link = texture.add_to(&recording()).unwrap();
    for second in 0..300 {
        let rate = |from: u64, to: u64| {
            link.rate_in(at(second * 1000 + from), at(second * 1000 + to)).as_mbit_per_sec()
        };
        assert!((rate(0, 100) / rate(0, 1000) - 0.1).abs() < 0.01, "second {second}");
        assert!((rate(900, 1000) / rate(0, 1000) - 1.9).abs() < 0.01, "second {second}");
    }
    std::fs::remove_file(folder.path().join("rising.mbps")).unwrap();
    let refused = texture.add_to(&recording()).unwrap_err().to_string();
    assert!(refused.contains("holds 0 seconds of recordings of every 100 ms"), "{refused}");
}

//! The filters' errors on channels whose true rate is known: a random walk around 1000 (standard deviation `process`
//! per sample), seen through noise (standard deviation `NOISE`).

use super::{Filter, KalmanLiteral, RateFilter};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use std::fmt::Write;

const FILTERS: [(&str, f64); 5] =
    [("kalman", 0.6), ("adaptive", 0.6), ("ewma", 0.26), ("ewma", 0.6), ("none", 0.6)];
const NOISE: f64 = 30.0;
/// Samples that a filter has to settle.
const SETTLING: usize = 500;

fn named(name: &str, alpha: f64) -> Box<dyn RateFilter> {
    let known = Filter::NAMED.iter().find(|(known, _)| *known == name);
    known.expect("a known filter").1.build(alpha)
}

struct Channel {
    random: Pcg64,
    rate: f64,
    process: f64,
}

impl Channel {
    fn new(process_to_noise: f64) -> Self {
        let process = NOISE * libm::sqrt(process_to_noise);
        Self { random: Pcg64::seed_from_u64(1), rate: 1000.0, process }
    }

    /// The true rate and a noisy measurement of it.
    fn next(&mut self) -> (f64, f64) {
        // The walk returns to 1000, slowly against any of the filters, so that it stays a rate.
        self.rate += self.process * self.normal() - 1e-3 * (self.rate - 1000.0);
        let rate = self.rate;
        (rate, self.seen(rate))
    }

    /// A noisy measurement of `rate`.
    fn seen(&mut self, rate: f64) -> f64 {
        rate + NOISE * self.normal()
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.random)
    }
}

#[derive(Default)]
struct Judged {
    squared_error: f64,
    correlation: f64,
    gains: Vec<f64>,
}

impl Judged {
    fn median_gain(&self) -> f64 {
        let mut gains = self.gains.clone();
        gains.sort_by(f64::total_cmp);
        gains[gains.len() / 2]
    }
}

fn judge(mut filter: Box<dyn RateFilter>, process_to_noise: f64) -> Judged {
    let mut channel = Channel::new(process_to_noise);
    let mut judged = Judged::default();
    let (mut estimate, mut last_innovation) = (1000.0, 0.0);
    let (mut squares, mut products) = (0.0, 0.0);
    let count = 20_000;
    for step in 0..count + SETTLING {
        let (rate, sample) = channel.next();
        let innovation = sample - estimate;
        estimate = filter.update(sample);
        if step >= SETTLING {
            judged.squared_error += (estimate - rate) * (estimate - rate) / count as f64;
            judged.gains.push(filter.gain());
            squares += innovation * innovation;
            products += innovation * last_innovation;
        }
        last_innovation = innovation;
    }
    judged.correlation = products / squares;
    judged
}

/// The gain of the Kalman filter that knows both variances, and its mean square error.
fn optimum(process_to_noise: f64) -> (f64, f64) {
    let predicted = (process_to_noise + libm::sqrt(process_to_noise * (process_to_noise + 4.0))) / 2.0;
    let gain = predicted / (predicted + 1.0);
    (gain, gain * NOISE * NOISE)
}

#[test]
fn errors_gains_and_whiteness() {
    let mut table = String::from("q/r    filter   alpha   mse     gain    rho1\n");
    for process_to_noise in [0.001, 0.01, 0.1, 1.0] {
        let (gain, error) = optimum(process_to_noise);
        let _ = writeln!(table, "{process_to_noise:<6} optimum  -     {error:6.1}   {gain:.3}   0");
        for (name, alpha) in FILTERS {
            let judged = judge(named(name, alpha), process_to_noise);
            let (error, gain) = (judged.squared_error, judged.median_gain());
            let rho = judged.correlation;
            let _ = writeln!(
                table,
                "{process_to_noise:<6} {name:<8} {alpha:<4}  {error:6.1}   {gain:.3}  {rho:+.2}"
            );
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_papers_gain_depends_on_alpha_and_not_on_the_channel() {
    let gain = |alpha, process_to_noise| judge(named("kalman", alpha), process_to_noise).median_gain();
    let gains = [0.001, 0.01, 0.1, 1.0].map(|process_to_noise| gain(0.6, process_to_noise));
    assert!(gains.iter().all(|gain| (0.22..0.30).contains(gain)), "{gains:?}");
    assert!(gain(0.3, 0.1) > gain(0.6, 0.1) && gain(0.6, 0.1) > gain(0.9, 0.1));
}

#[test]
fn the_adaptive_gain_follows_the_channel_and_leaves_the_innovations_white() {
    for process_to_noise in [0.01, 0.1, 1.0] {
        let judged = judge(named("adaptive", 0.6), process_to_noise);
        let (gain, error) = optimum(process_to_noise);
        assert!(judged.correlation.abs() < 0.05, "{process_to_noise}: {}", judged.correlation);
        assert!(
            (judged.median_gain() / gain - 1.0).abs() < 0.4,
            "{process_to_noise}: {} of {gain}",
            judged.median_gain()
        );
        assert!(
            judged.squared_error < 1.25 * error,
            "{process_to_noise}: {} of {error}",
            judged.squared_error
        );
    }
}

#[test]
fn a_step_is_followed() {
    let mut table = String::from("samples to 90 % of a step from 1000 to 2000, and back\n");
    for (name, alpha) in FILTERS {
        let mut filter = named(name, alpha);
        let mut channel = Channel::new(0.0);
        for _ in 0..SETTLING {
            filter.update(channel.seen(1000.0));
        }
        let mut samples_to = |rate: f64, is_there: fn(f64) -> bool| {
            (1..10_000).find(|_| is_there(filter.update(channel.seen(rate))))
        };
        let up = samples_to(2000.0, |estimate| estimate > 1900.0).expect("it gets there");
        let down = samples_to(1000.0, |estimate| estimate < 1100.0).expect("it gets there");
        let _ = writeln!(table, "{name:<8} {alpha:<4} {up:>3} {down:>3}");
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_printed_equations_diverge_and_the_sender_never_sees_it() {
    let mut filter = KalmanLiteral::new(0.6);
    let mut channel = Channel::new(0.01);
    let mut covariance_after = |count: usize, filter: &mut KalmanLiteral| {
        for _ in 0..count {
            let estimate = filter.update(channel.next().1);
            assert!(estimate.is_finite() && estimate > 0.0, "{estimate}");
        }
        filter.covariance()
    };
    // In the square of the rate's unit: the rate itself is 1000, its noise 30.
    assert!(covariance_after(60, &mut filter) > 1e12);
    assert!(!covariance_after(2000, &mut filter).is_finite());
}

proptest::proptest! {
    #[test]
    fn no_filter_leaves_the_range_of_its_samples(
        samples in proptest::collection::vec(1.0..1e10, 1..400),
        alpha in 0.0..=1.0,
    ) {
        let (least, most) = samples.iter().fold((f64::MAX, 0.0f64), |(least, most), &sample| {
            (least.min(sample), most.max(sample))
        });
        for (name, filter) in Filter::NAMED {
            let mut filter = filter.build(alpha);
            for &sample in &samples {
                let estimate = filter.update(sample);
                let within = estimate >= least * 0.999 && estimate <= most * 1.001;
                proptest::prop_assert!(within, "{name}: {estimate} of {least}..{most}");
                proptest::prop_assert!((0.0..=1.0).contains(&filter.gain()), "{name}: gain {}", filter.gain());
            }
        }
    }
}

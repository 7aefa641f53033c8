//! `reminis(dtt=40ms)`: a scheme of the kernel as the simulator's schemes are written.

use crate::error::KernelError;
use crate::schemes::Scheme;
use crate::schemes::change::{ONE, in_fixed_point, micros};
use crate::schemes::settings::Settings;
use cellcc_control::AdviceRequest;
use cellcc_control::kind::{Choice, Kind, Number, Packets, Switch, Time, TimeOrMultipleFrom};
use cellcc_experiment::linux_settings;
use cellcc_fixed::reminis::{Exploration, Profile};
use cellcc_units::Span;

/// A scheme of the kernel, with what was written of its settings.
#[derive(Debug, Clone)]
pub struct Written {
    /// The scheme.
    pub scheme: Scheme,
    /// Its settings: those that were written, and the defaults of the others.
    pub settings: Settings,
    /// The canonical text.
    pub text: String,
    /// What it asks of the network, for a scheme with network assistance.
    pub advice: Option<AdviceRequest>,
}

/// Defaults of the simulator that hold in the kernel in any case: writing them changes nothing, nor does writing the settings that
/// Linux has.
const FIXED_IN_KERNEL: [(&str, &str); 4] =
    [("aimd", "profile"), ("slow-start", "on"), ("fairness", "network"), ("fallback", "cubic")];
/// Settings of the reports, which are made elsewhere.
const OF_REPORTS: [&str; 5] = ["source", "period", "route", "delay", "loss"];
const PROFILES: [(&str, Profile); 3] =
    [("paper", Profile::Paper), ("literal", Profile::Literal), ("following", Profile::Following)];
const EXPLORATIONS: [(&str, Exploration); 3] = [
    ("random", Exploration::Random),
    ("deterministic", Exploration::Deterministic),
    ("off", Exploration::Off),
];
/// The registry has checked the ranges.
const ANY_NUMBER: Number = Number(f64::MIN, f64::MAX);
const ANY_PACKETS: Packets = Packets(0, u64::MAX);
const ANY_TIME: Time = Time(Span::ZERO, Span::MAX);
/// What these set, the others change.
const CHOOSE_OTHERS: [&str; 2] = ["profile", "preset"];
/// The presets of Tide: their delays in microseconds.
const TIDE_PRESETS: [(&str, u32); 3] = [("default", 5_000), ("interactive", 2_500), ("bulk", 20_000)];

impl Written {
    /// Reads `reminis(dtt=40ms)`, with the name of the simulator's scheme or the kernel's (`cellcc_reminis`); `None` where that
    /// is no scheme of ours.
    ///
    /// # Errors
    /// What is not as the simulator has it, or what the kernel's scheme cannot do.
    pub fn read(text: &str) -> Result<Option<Self>, KernelError> {
        let (name, inside) = text.split_at(text.find('(').unwrap_or(text.len()));
        let Some(scheme) = Scheme::known_as(name.trim()) else { return Ok(None) };
        let text = format!("{}{}", scheme.registry_name(), inside.trim_end());
        Self::over(scheme, Settings::default_of(scheme), &text).map(Some)
    }

    /// Reads the simulator's `text` of `scheme`: what it gives, and of the others what `settings` have.
    pub(crate) fn over(scheme: Scheme, settings: Settings, text: &str) -> Result<Self, KernelError> {
        let refused = |error: &dyn ToString| KernelError::Notation(error.to_string());
        let known = cellcc_schemes::registry().parse(text).map_err(|error| refused(&error))?;
        let mut written =
            Self { scheme, settings, text: known.text().into(), advice: known.advice_request() };
        let mut given: Vec<_> = known.given().collect();
        given.sort_by_key(|(key, _)| !CHOOSE_OTHERS.contains(key));
        for (key, value) in given {
            written.put(key, value).ok_or_else(|| {
                refused(&format!(
                    "`{}`: the kernel's {} has no {key}={value}; leave that out, or the scheme to the driver `sim`",
                    known.text(),
                    scheme.name()
                ))
            })?;
        }
        Ok(written)
    }

    /// `None`: the kernel has no such thing.
    fn put(&mut self, key: &str, value: &str) -> Option<()> {
        match (self.scheme, key, value) {
            (Scheme::Reminis | Scheme::ReminisCubic, "aimd", "cubic") => self.scheme = Scheme::ReminisCubic,
            (Scheme::Reminis, "aimd", "reno") => {}
            (Scheme::Natcp | Scheme::Nacubic | Scheme::Nabbr, key, _) if OF_REPORTS.contains(&key) => {}
            _ if FIXED_IN_KERNEL.contains(&(key, value)) => {}
            (scheme, ..) if linux_settings(scheme.registry_name()).contains(&(key, value)) => {}
            _ => self.settings.put(key, value)?,
        }
        Some(())
    }
}

impl Settings {
    fn put(&mut self, key: &str, value: &str) -> Option<()> {
        let number = || ANY_NUMBER.read(value).map(|number| (number * ONE).round() as i32);
        let packets = || ANY_PACKETS.read(value).and_then(|count| u32::try_from(count).ok());
        let switch = || Switch.read(value).map(u32::from);
        match (self, key) {
            (Self::Reminis(settings), "dtt") => {
                settings.set_target(TimeOrMultipleFrom(Span::ZERO).read(value)?);
            }
            (Self::Reminis(settings), "profile") => {
                settings.profile = Choice(&PROFILES).read(value)? as u32;
            }
            (Self::Reminis(settings), "nde") => {
                settings.exploration = Choice(&EXPLORATIONS).read(value)? as u32;
            }
            (Self::Reminis(settings), "ps") => settings.proactive_slowdown = switch()?,
            (Self::Reminis(settings), "cm") => settings.catastrophe_mitigation = switch()?,
            (Self::Assisted(settings), "alpha") => settings.alpha = number()?,
            (Self::Assisted(settings), "pacing-gain") => settings.pacing_gain = number()?,
            (Self::Assisted(settings), "timeout") => settings.timeout_periods = number()?,
            (Self::Assisted(settings), "pace") => {
                settings.paces_at_share = Choice(&[("bandwidth", 0), ("share", 1)]).read(value)?;
            }
            (Self::Vegas(settings), "alpha") => settings.alpha = packets()?,
            (Self::Vegas(settings), "beta") => settings.beta = packets()?,
            (Self::Vegas(settings), "gamma") => settings.gamma = packets()?,
            (Self::Westwood(settings), "profile") => {
                settings.profile = Choice(&[("paper", 0), ("linux", 1)]).read(value)?;
            }
            (Self::C2tcp(settings), "profile") => {
                settings.profile = Choice(&[("v2", 0), ("v1", 1)]).read(value)?;
                // The preset of the registry: target=100ms.
                settings.target_us = 100_000 * settings.profile;
            }
            (Self::C2tcp(settings), "target") => {
                (settings.target_us, settings.multiple) =
                    in_fixed_point(TimeOrMultipleFrom(Span::ZERO).read(value)?, settings.multiple);
            }
            (Self::C2tcp(settings), "alpha") => settings.alpha = number()?,
            (Self::C2tcp(settings), "tuner") => settings.tuner = switch()?,
            (Self::Tide(settings), "preset") => settings.delay_us = Choice(&TIDE_PRESETS).read(value)?,
            (Self::Tide(settings), "delay") => settings.delay_us = micros(ANY_TIME.read(value)?),
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Written {
        Written::read(text).expect("read").expect("a scheme of ours")
    }

    #[test]
    fn a_scheme_is_written_as_in_the_simulator_or_with_the_kernels_name() {
        let reminis = read("reminis( dtt=40ms, aimd=cubic,ps=off )");
        assert_eq!(
            (reminis.scheme, &*reminis.text),
            (Scheme::ReminisCubic, "reminis(dtt=40ms,ps=off,aimd=cubic)")
        );
        let Settings::Reminis(settings) = reminis.settings else { panic!("Reminis' settings") };
        assert_eq!((settings.target_us, settings.proactive_slowdown), (40_000, 0));
        assert_eq!(read("cellcc_natcp(alpha=3)").settings, read("natcp(alpha=3,period=10ms)").settings);
        assert_ne!(read("natcp(alpha=3)").settings, read("natcp").settings);
        for scheme in Scheme::ALL {
            assert_eq!(read(scheme.name()).scheme, scheme);
            assert_eq!(read(scheme.name()).settings, Settings::default_of(scheme));
        }
        let westwood = read("westwood(profile=linux)").settings;
        assert_ne!(westwood, read("westwood").settings);
        let c2tcp = |text| match read(text).settings {
            Settings::C2tcp(settings) => (settings.profile, settings.target_us, settings.tuner),
            other => panic!("{other:?}"),
        };
        assert_eq!(c2tcp("c2tcp(tuner=off)"), (0, 0, 0));
        assert_eq!(c2tcp("c2tcp(profile=v1)"), (1, 100_000, 1));
        assert_eq!(c2tcp("c2tcp(target=60ms,profile=v1)"), (1, 60_000, 1));
        for preset in &cellcc_schemes::registry().parse("tide").expect("registered").info().presets {
            let [chosen, written] = [format!("preset={}", preset.name), preset.sets.to_string()]
                .map(|arguments| read(&format!("tide({arguments})")).settings);
            assert_eq!(chosen, written, "{}", preset.name);
        }
        assert!(Written::read("cubic").expect("read").is_none());
    }

    #[test]
    fn what_the_kernels_scheme_cannot_do_is_refused_by_name() {
        for (text, expected) in [
            ("reminis(dtt=40)", "dtt=40"),
            ("reminis(profile=code2022)", "profile=code2022"),
            ("reminis(aimd=off)", "the kernel's cellcc_reminis has no aimd=off"),
            ("reminis(timer=on)", "timer=on"),
            ("natcp(guard=on)", "guard=on"),
            ("natcp(fallback=bbr)", "fallback=bbr"),
            ("nacubic(fairness=report)", "fairness=report"),
            ("vegas(alpha=2)", "alpha=2"),
            ("nabbr(alpha=2)", "no parameter `alpha`"),
            ("tide(delay=5)", "delay"),
            ("tide(compete=off)", "the kernel's cellcc_tide has no compete=off"),
            ("reminis(", ")"),
        ] {
            let error = Written::read(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

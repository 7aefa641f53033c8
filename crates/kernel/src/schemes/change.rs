//! What a user changes of a scheme's settings, and how they read.

use crate::error::KernelError;
use crate::schemes::Scheme;
use crate::schemes::notation::Written;
use crate::schemes::settings::Settings;
use crate::steps::reminis::ReminisSettings;
use cellcc_control::TimeOrMultiple;
use cellcc_fixed::{c2tcp, reminis, westwood};
use cellcc_units::{Ratio, Span};

/// Units of the cores' numbers with a fraction.
pub(crate) const ONE: f64 = 65536.0;

impl Settings {
    /// These settings of `scheme`, with new values: keys and values as in `reminis(dtt=40ms)`.
    ///
    /// # Errors
    /// The scheme has no such key, or not such a value.
    pub fn changed(self, scheme: Scheme, given: &[(&str, String)]) -> Result<Self, KernelError> {
        if given.is_empty() {
            return Ok(self);
        }
        if let Some((key, value)) = given.iter().find(|(_, value)| value.contains([',', '(', ')'])) {
            return Err(KernelError::Notation(format!("`{key}={value}`: that is not one value")));
        }
        let pairs: Vec<_> = given.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let text = format!("{}({})", scheme.registry_name(), pairs.join(","));
        Written::over(scheme, self, &text).map(|written| written.settings)
    }

    /// Their names and values.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Reminis(settings) => {
                let profile = match settings.config().profile {
                    reminis::Profile::Paper => "paper",
                    reminis::Profile::Literal => "literal",
                    reminis::Profile::Following => "following",
                };
                vec![("dtt", target(settings.target_us, settings.multiple)), ("profile", profile.into())]
            }
            Self::Assisted(settings) => vec![("alpha", real(settings.alpha))],
            Self::Vegas(settings) => {
                [("alpha", settings.alpha), ("beta", settings.beta), ("gamma", settings.gamma)]
                    .map(|(name, packets)| (name, format!("{packets}pkt")))
                    .into()
            }
            Self::Westwood(settings) => {
                let profile = match settings.profile() {
                    westwood::Profile::Paper => "paper",
                    westwood::Profile::Linux => "linux",
                };
                vec![("profile", profile.into())]
            }
            Self::C2tcp(settings) => {
                let profile = match settings.config().profile {
                    c2tcp::Profile::V2 => "v2",
                    c2tcp::Profile::V1 => "v1",
                };
                let tuner = if settings.config().tuner { "on" } else { "off" };
                vec![
                    ("profile", profile.into()),
                    ("target", target(settings.target_us, settings.multiple)),
                    ("alpha", real(settings.alpha)),
                    ("tuner", tuner.into()),
                ]
            }
            Self::Tide(settings) => {
                vec![("delay", Span::from_micros(settings.delay_us.into()).to_string())]
            }
        }
    }
}

impl ReminisSettings {
    pub(crate) fn set_target(&mut self, dtt: TimeOrMultiple) {
        (self.target_us, self.multiple) = in_fixed_point(dtt, self.multiple);
    }
}

/// A target as it is written.
fn target(micros: u32, multiple: i32) -> String {
    match micros {
        0 => Ratio::new(f64::from(multiple) / ONE).to_string(),
        micros => Span::from_micros(micros.into()).to_string(),
    }
}

/// A number in units of 2^-16.
fn real(fixed: i32) -> String {
    (f64::from(fixed) / ONE).to_string()
}

/// A target's microseconds, zero for a multiple, and the multiple in units of 2^-16, `multiple` for a time.
pub(crate) fn in_fixed_point(target: TimeOrMultiple, multiple: i32) -> (u32, i32) {
    match target {
        TimeOrMultiple::Time(time) => (micros(time), multiple),
        TimeOrMultiple::Multiple(multiple) => (0, (multiple.get() * ONE).round() as i32),
    }
}

pub(crate) fn micros(time: Span) -> u32 {
    u32::try_from(time.as_nanos() / 1000).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(settings: Settings) -> String {
        let values: Vec<_> =
            settings.values().iter().map(|(name, value)| format!("{name}={value}")).collect();
        values.join(" ")
    }

    fn changed(scheme: Scheme, settings: Settings, given: &[(&str, &str)]) -> Result<Settings, KernelError> {
        let given: Vec<_> = given.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        settings.changed(scheme, &given)
    }

    #[test]
    fn what_is_set_is_what_reads_and_the_rest_stays() {
        for (scheme, default, steps) in [
            (
                Scheme::Reminis,
                "dtt=1.5x profile=paper",
                &[
                    (&[("dtt", "40ms")][..], "dtt=40ms profile=paper"),
                    (&[("profile", "following")], "dtt=40ms profile=following"),
                    (&[("dtt", "2x")], "dtt=2x profile=following"),
                ][..],
            ),
            (Scheme::Nacubic, "alpha=2", &[(&[("alpha", "1.5")], "alpha=1.5")]),
            (Scheme::Vegas, "alpha=2pkt beta=4pkt gamma=1pkt", &[]),
            (Scheme::Westwood, "profile=paper", &[(&[("profile", "linux")], "profile=linux")]),
            (
                Scheme::C2tcp,
                "profile=v2 target=2x alpha=1.5 tuner=on",
                &[
                    (&[("target", "60ms"), ("tuner", "off")], "profile=v2 target=60ms alpha=1.5 tuner=off"),
                    (&[("alpha", "3")], "profile=v2 target=60ms alpha=3 tuner=off"),
                    // A profile is a preset: it sets the target, but one that is given with it counts.
                    (&[("profile", "v1")], "profile=v1 target=100ms alpha=3 tuner=off"),
                    (&[("target", "80ms"), ("profile", "v1")], "profile=v1 target=80ms alpha=3 tuner=off"),
                ],
            ),
            (
                Scheme::Tide,
                "delay=5ms",
                &[
                    (&[("preset", "interactive")], "delay=2.5ms"),
                    (&[("delay", "8ms")], "delay=8ms"),
                    (&[("delay", "10ms"), ("preset", "bulk")], "delay=10ms"),
                    (&[("preset", "default")], "delay=5ms"),
                ],
            ),
        ] {
            let mut settings = Settings::default_of(scheme);
            assert_eq!(text(settings), default);
            for (given, expected) in steps {
                settings = changed(scheme, settings, given).expect("changed");
                assert_eq!(text(settings), *expected);
            }
        }
    }

    #[test]
    fn a_setting_that_a_scheme_has_not_is_refused_by_name() {
        for (key, value) in
            [("dtt", "2x"), ("profile", "paper"), ("target", "2x"), ("tuner", "off"), ("alpha", "2")]
        {
            for scheme in Scheme::ALL {
                let default = Settings::default_of(scheme);
                let has = default.values().iter().any(|(name, _)| *name == key);
                match changed(scheme, default, &[(key, value)]) {
                    Ok(_) => assert!(has, "{} has no {key}", scheme.name()),
                    Err(error) => {
                        let other_values = ["profile=paper", "alpha=2"].contains(&&*format!("{key}={value}"));
                        assert!(!has || other_values, "{error}");
                        assert!(error.to_string().contains(key), "{error}");
                    }
                }
            }
        }
    }
}

//! What a user changes of a scheme's settings, and how they read.

use crate::error::KernelError;
use crate::scheme::Scheme;
use crate::settings::Settings;
use crate::steps::reminis::ReminisSettings;
use cellcc_control::TimeOrMultiple;
use cellcc_fixed::reminis::Profile;
use cellcc_units::{Ratio, Span};

/// New values; what is `None` stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Change {
    /// Reminis: the target RTT (DTT), 1 us to 1 h, or a multiple of the minimum RTT, above 1 and up to 1000.
    pub dtt: Option<TimeOrMultiple>,
    /// Reminis: which reading of the paper.
    pub profile: Option<Profile>,
    /// NATCP, NACubic, assisted BBR: the window in bandwidth-delay products, 0.1 to 100.
    pub alpha: Option<f64>,
}

/// Units of the cores' numbers with a fraction.
pub(crate) const ONE: f64 = 65536.0;

impl Settings {
    /// These settings of `scheme`, changed.
    ///
    /// # Errors
    /// The scheme has no such setting.
    pub fn changed(mut self, scheme: Scheme, change: &Change) -> Result<Self, KernelError> {
        let refused = |setting| Err(KernelError::NoSuchSetting { scheme: scheme.name(), setting });
        match &mut self {
            Self::Reminis(settings) => {
                if let Some(dtt) = change.dtt {
                    settings.set_target(dtt);
                }
                settings.profile = change.profile.map_or(settings.profile, |profile| profile as u32);
                if change.alpha.is_some() {
                    return refused("alpha");
                }
            }
            Self::Assisted(settings) => {
                settings.alpha = change.alpha.map_or(settings.alpha, |alpha| (alpha * ONE).round() as i32);
                if change.dtt.is_some() || change.profile.is_some() {
                    return refused(if change.dtt.is_some() { "dtt" } else { "profile" });
                }
            }
            Self::Vegas(_) | Self::Westwood(_) | Self::C2tcp(_) => match change {
                Change { dtt: Some(_), .. } => return refused("dtt"),
                Change { profile: Some(_), .. } => return refused("profile"),
                Change { alpha: Some(_), .. } => return refused("alpha"),
                Change { dtt: None, profile: None, alpha: None } => {}
            },
        }
        Ok(self)
    }

    /// Their names and values.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Reminis(settings) => {
                let dtt = match settings.target_us {
                    0 => Ratio::new(f64::from(settings.multiple) / ONE).to_string(),
                    micros => Span::from_micros(micros.into()).to_string(),
                };
                let profile = match settings.config().profile {
                    Profile::Paper => "paper",
                    Profile::Literal => "literal",
                    Profile::Following => "following",
                };
                vec![("dtt", dtt), ("profile", profile.into())]
            }
            Self::Assisted(settings) => vec![("alpha", (f64::from(settings.alpha) / ONE).to_string())],
            Self::Vegas(_) | Self::Westwood(_) | Self::C2tcp(_) => Vec::new(),
        }
    }
}

impl ReminisSettings {
    pub(crate) fn set_target(&mut self, dtt: TimeOrMultiple) {
        (self.target_us, self.multiple) = in_fixed_point(dtt, self.multiple);
    }
}

/// A target's microseconds, zero for a multiple, and the multiple in units of 2^-16, `multiple` for a time.
pub(crate) fn in_fixed_point(target: TimeOrMultiple, multiple: i32) -> (u32, i32) {
    match target {
        TimeOrMultiple::Time(time) => (micros(time), multiple),
        TimeOrMultiple::Multiple(multiple) => (0, (multiple.get() * ONE).round() as i32),
    }
}

fn micros(time: Span) -> u32 {
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

    #[test]
    fn what_is_set_is_what_reads_and_the_rest_stays() {
        let default = Settings::default_of(Scheme::Reminis);
        assert_eq!(text(default), "dtt=1.5x profile=paper");
        let dtt = TimeOrMultiple::Time(Span::from_millis(40));
        let first = default.changed(Scheme::Reminis, &Change { dtt: Some(dtt), ..Change::default() });
        let following = Change { profile: Some(Profile::Following), ..Change::default() };
        let second = first.and_then(|settings| settings.changed(Scheme::Reminis, &following));
        assert_eq!(text(second.expect("changed")), "dtt=40ms profile=following");
        let back = Change { dtt: Some(TimeOrMultiple::times(2.0)), ..Change::default() };
        assert_eq!(text(default.changed(Scheme::Reminis, &back).expect("changed")), "dtt=2x profile=paper");
    }

    #[test]
    fn a_setting_that_a_scheme_has_not_is_refused_by_name() {
        let changes = [
            ("dtt", Change { dtt: Some(TimeOrMultiple::times(2.0)), ..Change::default() }),
            ("profile", Change { profile: Some(Profile::Paper), ..Change::default() }),
            ("alpha", Change { alpha: Some(2.0), ..Change::default() }),
        ];
        for scheme in Scheme::ALL {
            let default = Settings::default_of(scheme);
            let known: Vec<_> = default.values().into_iter().map(|(name, _)| name).collect();
            for (name, change) in &changes {
                match default.changed(scheme, change) {
                    Ok(_) => assert!(known.contains(name), "{} has no {name}", scheme.name()),
                    Err(error) => {
                        assert!(!known.contains(name) && error.to_string().contains(name), "{error}");
                    }
                }
            }
        }
    }
}

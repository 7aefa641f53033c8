//! `reminis(dtt=40ms)`: a scheme of the kernel as the simulator's schemes are written.

use super::{Scheme, Settings};
use crate::error::KernelError;
use cellcc_control::{AdviceRequest, Preset};

/// A scheme of the kernel, with its written settings.
#[derive(Debug, Clone)]
pub struct Written {
    /// The scheme.
    pub scheme: Scheme,
    /// The scheme's settings: those that were written, and defaults for the others.
    pub settings: Settings,
    /// The canonical text.
    pub text: String,
    /// The scheme's request to the network, if it uses network assistance.
    pub advice: Option<AdviceRequest>,
    known: cellcc_control::Scheme,
}

/// Settings of the reports, which are made elsewhere.
const OF_REPORTS: [&str; 5] = ["source", "period", "route", "delay", "loss"];

impl Written {
    /// Reads `reminis(dtt=40ms)`, with the name of the simulator's scheme or the kernel's (`cellcc_reminis`); `None` where that
    /// is no scheme of ours.
    ///
    /// # Errors A setting that the simulator does not have, or that the kernel's scheme cannot do.
    pub fn read(text: &str) -> Result<Option<Self>, KernelError> {
        let (name, inside) = text.split_at(text.find('(').unwrap_or(text.len()));
        let Some(first) = Scheme::known_as(name.trim()) else { return Ok(None) };
        let text = format!("{}{}", first.registry_name(), inside.trim_end());
        let known = cellcc_schemes::registry().parse(&text);
        let known = known.map_err(|error| KernelError::Notation(error.to_string()))?;
        // The registry's name stands for several schemes of the kernel where an argument chooses between them.
        let is_meant = |scheme: &Scheme| {
            scheme.registry_name() == name.trim() && known.given().all(|pair| scheme.can(&known, pair))
        };
        let scheme = Scheme::ALL.into_iter().find(is_meant).unwrap_or(first);
        if let Some((key, value)) = known.given().find(|pair| !scheme.can(&known, *pair)) {
            return Err(KernelError::Notation(format!(
                "`{}`: the kernel's {} has no {key}={value}; leave that out, or the scheme to the driver `sim`",
                known.text(),
                scheme.name()
            )));
        }
        let settings = Settings::read(scheme, known.text())?;
        let (text, advice) = (known.text().into(), known.advice_request());
        Ok(Some(Self { scheme, settings, text, advice, known }))
    }

    /// True if the text is only a name.
    pub fn is_bare(&self) -> bool {
        self.known.given().next().is_none()
    }

    /// These settings, overridden by the written ones; a written preset sets all of its values.
    ///
    /// # Errors
    /// The settings are not such as this cellcc would have written.
    pub fn over(&self, settings: &Settings) -> Result<Settings, KernelError> {
        let is_given = |key: &str| self.known.given().any(|(given, _)| given == key);
        let is_of_preset = |key: &str| {
            let presets = self.known.info().presets.iter().filter(|preset| is_given(&preset.parameter));
            presets.flat_map(Preset::values).any(|(set, _)| set == key)
        };
        let stay = settings.values().iter().map(|(key, value)| (&**key, &**value));
        let stay = stay.filter(|(key, _)| !is_given(key) && !is_of_preset(key));
        let all: Vec<_> =
            stay.chain(self.known.given()).map(|(key, value)| format!("{key}={value}")).collect();
        Settings::read(self.scheme, &format!("{}({})", self.scheme.registry_name(), all.join(",")))
    }
}

impl Scheme {
    /// True if the kernel's scheme can do this written setting.
    fn can(self, known: &cellcc_control::Scheme, (key, value): (&str, &str)) -> bool {
        let is_set = || Settings::default_of(self).values().iter().any(|(set, _)| set == key);
        let chooses = || known.info().presets.iter().any(|preset| preset.parameter == key);
        let alone = || Settings::read(self, &format!("{}({key}={value})", self.registry_name())).is_ok();
        self.entry().always.contains(&(key, value))
            || (known.advice_request().is_some() && OF_REPORTS.contains(&key))
            || known.info().in_linux.contains(&(key, value))
            || ((is_set() || chooses()) && alone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Written {
        Written::read(text).expect("read").expect("a scheme of ours")
    }

    fn text(settings: &Settings) -> String {
        let values: Vec<_> = settings.values().iter().map(|(key, value)| format!("{key}={value}")).collect();
        values.join(" ")
    }

    #[test]
    fn a_scheme_is_written_as_in_the_simulator_or_with_the_kernels_name() {
        let reminis = read("reminis( dtt=40ms, aimd=cubic,ps=off )");
        assert_eq!(
            (reminis.scheme.name(), &*reminis.text),
            ("reminis_cubic", "reminis(dtt=40ms,ps=off,aimd=cubic)")
        );
        assert_eq!(text(&reminis.settings), "dtt=40ms profile=paper nde=random ps=off cm=on");
        assert_eq!(read("cellcc_natcp(alpha=3)").settings, read("natcp(alpha=3,period=10ms)").settings);
        assert_eq!(text(&read("nabbr").settings), "timeout=6");
        assert!(Written::read("cubic").expect("read").is_none());
        for scheme in Scheme::ALL {
            let Written { scheme: of_name, settings, .. } = read(scheme.name());
            assert_eq!((of_name, &settings), (scheme, &Settings::default_of(scheme)));
        }
    }

    #[test]
    fn the_arguments_of_settings_set_them_again() {
        let registry = cellcc_schemes::registry();
        for scheme in Scheme::ALL {
            let info = registry.parse(scheme.registry_name()).expect("registered").info().clone();
            let words = info.parameters.iter().flat_map(|parameter| {
                parameter.words.iter().map(|word| format!("{}={word}", parameter.name))
            });
            for pair in words {
                // Some words the kernel's scheme does not take.
                let Ok(Some(written)) = Written::read(&format!("{}({pair})", scheme.name())) else {
                    continue;
                };
                let all = text(&written.settings).replace(' ', ",");
                assert_eq!(read(&format!("{}({all})", scheme.name())).settings, written.settings, "{pair}");
            }
        }
    }

    #[test]
    fn what_is_set_is_what_reads_and_the_rest_stays() {
        for (default, steps) in [
            (
                "dtt=1.5x profile=paper nde=random ps=on cm=on",
                &[
                    ("reminis(dtt=40ms)", "dtt=40ms profile=paper nde=random ps=on cm=on"),
                    ("reminis(profile=following)", "dtt=40ms profile=following nde=random ps=on cm=on"),
                    ("reminis(dtt=2x,ps=off)", "dtt=2x profile=following nde=random ps=off cm=on"),
                ][..],
            ),
            (
                "alpha=2 pacing-gain=1 pace=bandwidth timeout=6",
                &[("nacubic(alpha=1.5)", "alpha=1.5 pacing-gain=1 pace=bandwidth timeout=6")],
            ),
            ("alpha=2pkt beta=4pkt gamma=1pkt", &[("vegas(alpha=6pkt)", "alpha=6pkt beta=6pkt gamma=1pkt")]),
            ("profile=paper", &[("westwood(profile=linux)", "profile=linux")]),
            (
                "profile=v2 target=2x alpha=1.5 tuner=on",
                &[
                    ("c2tcp(target=60ms,tuner=off)", "profile=v2 target=60ms alpha=1.5 tuner=off"),
                    ("c2tcp(alpha=3)", "profile=v2 target=60ms alpha=3 tuner=off"),
                    // A profile is a preset: it sets the target, but one that is given with it counts.
                    ("c2tcp(profile=v1)", "profile=v1 target=100ms alpha=3 tuner=off"),
                    ("c2tcp(target=80ms,profile=v1)", "profile=v1 target=80ms alpha=3 tuner=off"),
                ],
            ),
            (
                "delay=5ms",
                &[
                    ("tide(preset=interactive)", "delay=2.5ms"),
                    ("tide(delay=8ms)", "delay=8ms"),
                    ("tide(delay=10ms,preset=bulk)", "delay=10ms"),
                    ("tide(preset=default)", "delay=5ms"),
                ],
            ),
        ] {
            let mut settings = Settings::default_of(read(steps[0].0).scheme);
            assert_eq!(text(&settings), default);
            for (given, expected) in steps {
                settings = read(given).over(&settings).expect("changed");
                assert_eq!(text(&settings), *expected, "{given}");
            }
        }
    }

    #[test]
    fn what_the_kernels_scheme_cannot_do_is_refused_by_name() {
        for (text, expected) in [
            ("reminis(dtt=40)", "dtt=40"),
            ("reminis(profile=code2022)", "profile=code2022"),
            ("reminis(aimd=off)", "the kernel's cellcc_reminis has no aimd=off"),
            ("reminis_cubic(aimd=reno)", "the kernel's reminis_cubic has no aimd=reno"),
            ("reminis(timer=on)", "timer=on"),
            ("natcp(guard=on)", "guard=on"),
            ("natcp(fallback=bbr)", "fallback=bbr"),
            ("nacubic(fairness=report)", "fairness=report"),
            ("vegas(alpha=2)", "alpha=2"),
            ("vegas(dtt=2x)", "no parameter `dtt`"),
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

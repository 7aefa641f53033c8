//! The behaviour of Linux's TCP that other drivers may not share: acknowledgements, loss detection, and settings of the scheme that
//! are fixed in the kernel. A Scenario can select it with one word, and a comparison says where its drivers differ in it.

use crate::{AckPolicy, DEFAULT_DRIVER, DelayedAcks, Endpoint, LossDetection, Scenario};
use cellcc_control::{Registry, Scheme};

/// The name of the driver that runs Linux's TCP.
const KERNEL: &str = "kernel";

const LINUX_ACKS: AckPolicy = AckPolicy::Delayed(DelayedAcks::DEFAULT);

impl Scenario {
    /// Makes the simulator behave like Linux's TCP wherever the Scenario keeps the defaults.
    pub(crate) fn take_linux_settings(&mut self) {
        let usual = Endpoint::default();
        let endpoint = &mut self.endpoint;
        if (endpoint.ack_every, endpoint.max_ack_delay) == (usual.ack_every, usual.max_ack_delay) {
            endpoint.acks.get_or_insert(LINUX_ACKS);
        }
        endpoint.recovery = LossDetection::Rack;
        let registry = crate::registry();
        for flow in &mut self.flows {
            // The driver refuses a text that is no scheme.
            if let Ok(scheme) = registry.parse(&flow.scheme) {
                flow.scheme = with_linux_settings(&scheme);
            }
        }
    }

    /// The settings in which drivers may differ: each with its name and this driver's value.
    fn settings_by_driver(&self, registry: &Registry) -> Vec<(String, String)> {
        let is_kernel = self.driver == KERNEL;
        let acks = if is_kernel { LINUX_ACKS } else { self.endpoint.ack_policy() };
        let recovery = match (&*self.driver, self.endpoint.recovery) {
            (KERNEL, _) | (DEFAULT_DRIVER, LossDetection::Rack) => "rack",
            _ => "quic",
        };
        let mut settings =
            vec![("acks".to_owned(), acks.to_string()), ("recovery".to_owned(), recovery.to_owned())];
        for scheme in self.flows.iter().filter_map(|flow| registry.parse(&flow.scheme).ok()) {
            let name = &*scheme.info().name;
            for (key, linux) in scheme.info().in_linux {
                let value = if is_kernel { (*linux).to_owned() } else { value_of(&scheme, key) };
                settings.push((format!("{key} of {name}"), value));
            }
        }
        settings
    }
}

fn with_linux_settings(scheme: &Scheme) -> String {
    let is_given = |key: &str| scheme.given().any(|(given, _)| given == key);
    let missing = scheme.info().in_linux.iter().filter(|(key, _)| !is_given(key));
    let missing = missing.map(|(key, value)| format!("{key}={value}"));
    let given = scheme.given().map(|(key, value)| format!("{key}={value}"));
    let all: Vec<_> = given.chain(missing).collect();
    match all.is_empty() {
        true => scheme.text().to_owned(),
        false => format!("{}({})", scheme.info().name, all.join(",")),
    }
}

/// The value that a scheme has for a key, as text: given, of a preset, or the default.
fn value_of(scheme: &Scheme, key: &str) -> String {
    let info = scheme.info();
    let given = |key: &str| scheme.given().find_map(|(given, value)| (given == key).then_some(value));
    let mut chosen = info.presets.iter().filter(|preset| given(&preset.parameter) == Some(&*preset.name));
    let set =
        || chosen.find_map(|preset| preset.values().find_map(|(set, value)| (set == key).then_some(value)));
    let default = || info.parameters.iter().find(|known| known.name == key).map(|known| &*known.default);
    given(key).or_else(set).or_else(default).unwrap_or_default().to_owned()
}

/// The values of a setting, each with the drivers that have it.
type Values<'a> = Vec<(String, Vec<&'a str>)>;

/// Describes the settings in which the compared drivers differ; `None` where there are none. The Scenarios are those of one scheme
/// under the same conditions, and of others.
pub fn differing_settings(scenarios: &[&Scenario]) -> Option<String> {
    if scenarios.windows(2).all(|pair| pair[0].driver == pair[1].driver) {
        return None;
    }
    let registry = crate::registry();
    // By setting, in the order of first appearance: its values, each with the drivers that have it.
    let mut all: Vec<(String, Values)> = Vec::new();
    for &scenario in scenarios {
        for (name, value) in scenario.settings_by_driver(&registry) {
            let drivers = place(place(&mut all, name), value);
            if !drivers.contains(&&*scenario.driver) {
                drivers.push(&scenario.driver);
            }
        }
    }
    // A setting that a driver has with two values was varied, or two flows have it.
    let is_unlike = |values: &Values| {
        values.iter().any(|(_, drivers)| values.iter().any(|(_, others)| others != drivers))
    };
    let mut parts = Vec::new();
    for (name, values) in all.iter().filter(|(_, values)| is_unlike(values)) {
        let values = values.iter().map(|(value, drivers)| format!("{value} in {}", drivers.join(" and ")));
        parts.push(format!("{name} ({})", values.collect::<Vec<_>>().join(", ")));
    }
    let with_both = [DEFAULT_DRIVER, KERNEL].iter().all(|driver| {
        all.iter().any(|(_, values)| values.iter().any(|(_, drivers)| drivers.contains(driver)))
    });
    let remedy = if with_both { "; --like-linux gives the simulator the kernel's" } else { "" };
    (!parts.is_empty()).then(|| format!("Not the same in all drivers: {}{remedy}.", parts.join(", ")))
}

/// The value of a key in a list, which gets one where it has none.
fn place<T: Default>(list: &mut Vec<(String, T)>, key: String) -> &mut T {
    let at = list.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        list.push((key, T::default()));
        list.len() - 1
    });
    &mut list[at].1
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Driver, Plan, PlanFile, Record, ResolveError, Resolved, RunError};

    /// A driver that accepts everything and runs nothing.
    pub(crate) struct Accepting;

    impl Driver for Accepting {
        fn resolve(&self, _: &mut Scenario) -> Result<(), ResolveError> {
            Ok(())
        }
        fn run(&self, _: &Resolved) -> Result<Record, RunError> {
            unreachable!("plans are only made here")
        }
    }

    /// The Scenarios of these schemes in the simulator and the kernel, without the limit.
    fn scenarios(schemes: &[&str], change: impl FnOnce(&mut PlanFile)) -> Vec<Scenario> {
        let mut file = PlanFile {
            schemes: schemes.iter().map(|&text| text.to_owned()).collect(),
            traces: vec!["3g".into()],
            drivers: vec!["sim".into(), "kernel".into()],
            ..PlanFile::default()
        };
        change(&mut file);
        let plan = Plan::new(&file, &Accepting, "0").unwrap();
        plan.runs
            .into_iter()
            .map(|run| run.scenario)
            .filter(|run| !run.flows.is_empty())
            .map(|run| run.0)
            .collect()
    }

    fn note(scenarios: &[Scenario]) -> Option<String> {
        differing_settings(&scenarios.iter().collect::<Vec<_>>())
    }

    #[test]
    fn every_setting_of_linux_is_one_that_the_simulator_takes_and_not_its_default() {
        let registry = crate::registry();
        for scheme in registry.schemes() {
            for (key, value) in scheme.in_linux {
                let text = format!("{}({key}={value})", scheme.name);
                let parsed = registry.parse(&text).unwrap_or_else(|error| panic!("{error}"));
                let default = registry.parse(&scheme.name).unwrap();
                assert_ne!(value_of(&parsed, key), value_of(&default, key), "{text}");
            }
        }
    }

    #[test]
    fn what_the_simulator_does_otherwise_than_the_kernel_is_said() {
        let note = note(&scenarios(&["cubic", "bbr", "natcp(guard=off)"], |_| ())).unwrap();
        assert_eq!(
            note,
            "Not the same in all drivers: acks (every-packet in sim, delayed in kernel), recovery (quic in sim, rack in kernel), \
             hystart of cubic (off in sim, linux in kernel), variant of cubic (rfc9438 in sim, linux in kernel), fallback of natcp \
             (cubic in sim, cubic(hystart=linux,variant=linux) in kernel); --like-linux gives the simulator the kernel's."
        );
    }

    #[test]
    fn like_linux_nothing_is_left_to_say_and_the_rows_keep_their_names() {
        let schemes = ["cubic", "reminis(dtt=40ms)", "natcp", "nacubic", "nabbr", "c2tcp", "2*cubic+vegas"];
        let like = scenarios(&schemes, |file| file.like_linux = true);
        assert_eq!(note(&like), None);
        let plain = scenarios(&schemes, |_| ());
        for (like, plain) in like.iter().zip(&plain) {
            assert_eq!((&like.scheme, &like.driver), (&plain.scheme, &plain.driver));
            // The kernel's runs are as they were.
            assert_eq!(like == plain, like.driver == "kernel", "{}", like.label());
        }
        assert_eq!(like[2].flows[0].scheme, "reminis(dtt=40ms,timer=off)");
    }

    #[test]
    fn what_is_asked_for_stays_and_is_said() {
        let asked = scenarios(&["cubic(hystart=off)"], |file| {
            file.like_linux = true;
            file.endpoint.acks = Some(AckPolicy::EVERY_PACKET);
        });
        assert_eq!(asked[0].flows[0].scheme, "cubic(hystart=off,variant=linux)");
        assert_eq!(asked[0].endpoint.acks, Some(AckPolicy::EVERY_PACKET));
        let note = note(&asked).unwrap();
        assert!(
            note.contains("acks (every-packet in sim") && note.contains("hystart of cubic (off in"),
            "{note}"
        );
        assert!(!note.contains("recovery") && !note.contains("variant"), "{note}");
    }

    #[test]
    fn a_variant_brings_its_settings() {
        let with = |text| note(&scenarios(&[text], |_| ())).unwrap();
        assert!(!with("cubic(variant=linux)").contains("cubic"));
        assert!(
            with("cubic(variant=linux,hystart=on)").contains("hystart of cubic (on in sim, linux in kernel)")
        );
    }

    #[test]
    fn one_driver_has_nothing_to_say_whatever_is_varied() {
        let varied = scenarios(&["cubic", "cubic(hystart=on)"], |file| {
            file.drivers = vec!["sim".into()];
            file.vary = toml::from_str("'endpoint.recovery' = ['quic', 'rack']").unwrap();
        });
        assert_eq!(note(&varied), None);
    }
}

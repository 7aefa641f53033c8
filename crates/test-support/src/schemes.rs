//! The one list of schemes for tests of all of them: a new scheme is in each.

/// Settings that behave as schemes of their own.
const VARIANTS: [&str; 18] = [
    "abba(revision=floor)",
    "bbr(sampler=max,pacing=off)",
    "bbr2(profile=alpha)",
    "bbr3(profile=google)",
    "c2tcp(profile=v1)",
    "copa(mode=default)",
    "copa(profile=mvfst)",
    "natcp(source=oracle)",
    "rbbr(profile=paper)",
    "rbbr(profile=tperf)",
    "reminis(profile=code2022)",
    "reminis(profile=following)",
    "reminis(profile=literal)",
    "verus(preset=authors)",
    "verus(preset=paper)",
    "vivace(profile=nsdi2018)",
    "vivace(utility=loss)",
    "westwood(profile=linux)",
];

/// One scheme of each kind, for tests in real time, which cannot afford all: by loss, with a delay target, by rate, with a half at
/// the receiver, with epochs, by delay.
pub const KINDS: [&str; 6] = ["cubic", "reminis", "bbr", "rbbr", "verus", "vegas"];

/// The schemes of the registry and their variants, in its order; without `left_out`, each of which has its reason.
///
/// # Panics
/// An exception that is no scheme.
pub fn schemes_without(left_out: &[(&str, &str)]) -> Vec<String> {
    let registry = cellcc_schemes::registry();
    let mut texts: Vec<String> = Vec::new();
    for info in registry.schemes() {
        texts.push(info.name.to_string());
        let is_variant = |text: &&str| text.split('(').next() == Some(&*info.name);
        texts.extend(VARIANTS.into_iter().filter(is_variant).map(String::from));
    }
    for (name, reason) in left_out {
        assert!(texts.iter().any(|text| text == name), "{name}, left out because {reason}, is no scheme");
    }
    texts.retain(|text| left_out.iter().all(|(name, _)| name != text));
    texts
}

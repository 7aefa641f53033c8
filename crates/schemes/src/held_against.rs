//! The one list of programs and figures of others that the schemes were held against. The pages of the schemes, `cellcc schemes`
//! and the league read it.

use cellcc_control::{HeldAgainst, SchemeInfo};

/// Schemes of ours and those that ignore the path are missing.
const HELD: [(&str, HeldAgainst); 23] = [
    (
        "reminis",
        of(
            "its paper: 32 of 91 claims hit, 20 partly",
            "verdicts that depend on the buffer, which the paper leaves open",
        ),
    ),
    (
        "rbbr",
        of(
            "its paper: 18 of 40 claims hit, 13 partly",
            "the throughput that it loses in its paper, which is not explained",
        ),
    ),
    ("natcp", NATCP),
    ("nacubic", NATCP),
    ("tg", NATCP),
    (
        "verus",
        of(
            "its authors' program in 4 recordings (`preset=authors`): utilisation within 3 points, mean queueing delay up to 26 ms below; \
             its paper: 14 of 41 claims hit, 15 partly",
            "the paper's results: those are `preset=authors` and `preset=paper`",
        ),
    ),
    (
        "cubic",
        of(
            "Linux 6.18 under 9 faults: throughput 4.3 % apart on average; ns-3 3.44 in 1 cell: 0.4 % of the goodput",
            "Linux without `--like-linux`: HyStart and cuts to whole packets are Linux's own",
        ),
    ),
    (
        "newreno",
        of(
            "Linux 6.18 in 1 cell: 0.8 points of utilisation and 1 % of the mean RTT apart",
            "Linux without `--like-linux`",
        ),
    ),
    (
        "bbr",
        of(
            "picoquic's in 48 cells: 46 within 10 % of throughput and 15 % of an RTT of queue; Linux 6.18 under 9 faults: \
             throughput 1.5 % apart on average",
            "a queue of one packet, which Linux's pacing overflows",
        ),
    ),
    (
        "bbr3",
        of(
            "picoquic's in 24 cells without loss: 20 within 10 % of throughput and 15 % of an RTT of queue; 4 at 5 Mbit/s with 10 ms of \
             queue for 3",
            "low delay on paths that hold few packets",
        ),
    ),
    (
        "bbr2",
        of(
            "Reminis' figures for it in 60 recordings of 5G: the same utilisation, and 1.56 times Reminis' p95 RTT for 2.2",
            "BBR v2 of Linux or Chromium: no program was run next to it",
        ),
    ),
    (
        "vegas",
        of(
            "Reminis' figures for it in 60 recordings of 5G: Reminis' throughput divided by its is 0.97 (paper: 2.42), with 1 ms of jitter 2.57 in twelve",
            "Linux with receive offload, where bunched acknowledgements make it slower",
        ),
    ),
    ("copa", DERIVED),
    ("roccet", DERIVED),
    ("prague", DERIVED),
    (
        "c2tcp",
        of(
            "NATCP's Table 2 in 16 recordings: power 2.34 times below NATCP's for 2.79",
            "its p95 delay: power95 is 2.15 times below NATCP's for 4.83",
        ),
    ),
    (
        "vivace",
        of(
            "NATCP's Table 2 in 16 recordings: power 28.3 times below NATCP's for 28.6; its authors' program in one LTE and one \
             HSPA+ recording: seconds of queue where theirs keeps 0.02 to 1 s",
            "the delay of its latency utility on links whose rate falls, with an unlimited queue",
        ),
    ),
    (
        "abc",
        of(
            "NATCP's Table 2 in 16 recordings: power 6.15 times below NATCP's for 2.71",
            "a path without its queue",
        ),
    ),
    (
        "sprout",
        of(
            "its paper's 95 % within 100 ms in 12 recordings: 9 keep it; NATCP's Table 2 in 16: power 7.91 times below NATCP's for 4.80",
            "links beyond `max_rate`, and constant links below 6 Mbit/s",
        ),
    ),
    (
        "westwood",
        of(
            "NATCP's Table 2 in 16 recordings (`profile=linux`): power 19.6 times below NATCP's for 17.7",
            "paths that become longer",
        ),
    ),
    (
        "abba",
        of(
            "its author's figures with a loss in 5 % of the rounds, 1 cell: CUBIC 47.9 % for 46.7 %, `floor` 96.0 % for 97.5 %; none of \
             `line` is known",
            "results of its author's stack, which starts with Rapid Start and grows by Cuback",
        ),
    ),
    (
        "scream",
        of(
            "its authors' simulator in 9 cells without marks (`preset=ericsson`): mean queue within 25 % in seven, 35 % below in one; at 1 % \
             loss 4.9 and 5.2 of 20 and 50 Mbit/s for 4.2 and 4.5",
            "competition with Prague: 4 of 100 Mbit/s for its authors' 60",
        ),
    ),
    (
        "gcc",
        of(
            "goog_cc 0.1.4, a port of libwebrtc, on 1 and 2 Mbit/s without probes: rates within 0.1 % until the first over-use, within \
             55 kbit/s in the next report",
            "transfers of files: it sends the output of an encoder, and padding only to probe",
        ),
    ),
];

const NATCP: HeldAgainst = of(
    "NATCP's paper: 30 of 54 claims hit, 7 partly",
    "the paper's results with causal reports: the paper's reports are an oracle (`source=oracle`)",
);

const DERIVED: HeldAgainst = of(
    "results that can be derived, in its tests, and no program of others",
    "a verdict on its authors' program",
);

const fn of(by: &'static str, not_for: &'static str) -> HeldAgainst {
    HeldAgainst { by, not_for }
}

/// The entry with its comparison, where there is one.
pub(crate) fn with(info: SchemeInfo) -> SchemeInfo {
    match HELD.iter().find(|(name, _)| *name == info.name) {
        Some(&(_, held)) => info.held_against(held),
        None => info,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_of_the_list_is_a_scheme_once() {
        let registry = crate::registry();
        let held = registry.schemes().iter().filter(|info| info.held_against.is_some()).count();
        assert_eq!(held, HELD.len());
    }
}

//! The presets of Verus: what each sets otherwise than the defaults.

use super::parameters::PRESET;
use cellcc_control::Preset;

pub(super) fn presets() -> Vec<Preset> {
    vec![
        Preset {
            parameter: PRESET.name,
            name: "reference".into(),
            summary: "the authors' program: every default".into(),
            source: "github.com/yzaki/verus, 4b1bbf0, June 2017".into(),
            sets: "".into(),
        },
        Preset {
            parameter: PRESET.name,
            name: "sigcomm15".into(),
            summary: "the paper, and the program where the paper says nothing".into(),
            source: "Zaki et al., SIGCOMM 2015, sections 4, 5.1, 5.2 and 6.1".into(),
            sets: "r=2, ratio-of=current, slow-start-delay=15x, slow-start-loss=0pkt, loss-timer=3x, \
                   recovery=acks, pause=off, min-delay-creep=0s"
                .into(),
        },
        Preset {
            parameter: PRESET.name,
            name: "robust".into(),
            summary: "this project: a bounded delay, a profile that forgets, and no more in an epoch than its share \
                      of the window less what is in flight, however short the RTT"
                .into(),
            source: "docs/algorithms/verus.md".into(),
            sets: "r=4, fit=monotone, slow-start-delay=2x, loss-timer=0s, recovery=acks, initial-window=10pkt, \
                   restart=off, point-lifetime=10s, label=inflight, bounded=on, min-delay-lifetime=10s, \
                   loss-tolerance=0.02, pacing=on"
                .into(),
        },
    ]
}

//! No input stops a core: the tests' build panics where an integer overflows.

use cellcc_fixed::assisted::{self, Advice, Assisted, Limits, Path};
use cellcc_fixed::c2tcp::{self, C2tcp};
use cellcc_fixed::reminis::{self, Exploration, Profile, Reminis};
use cellcc_fixed::roccet::{Roccet, Sender};
use cellcc_fixed::tide::{self, Tide};
use cellcc_fixed::vegas::{self, Vegas};
use cellcc_fixed::westwood::{self, Westwood};
use cellcc_fixed::{Ack, BytesPerSecond, Instant, Micros, Packets, Q16, Window};
use proptest::prelude::*;

/// Small, likely and extreme numbers.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..4, 0u32..100_000, any::<u32>(), Just(u32::MAX), (0u32..32).prop_map(|bit| 1 << bit)]
}

fn long_word() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..10_000_000, any::<u64>(), Just(u64::MAX)]
}

prop_compose! {
    fn ack()(now in long_word(), rtt in word(), delivered in word(), at_send in word(), limited in any::<bool>(),
             lost in any::<bool>()) -> Ack {
        Ack {
            now: Instant(now),
            rtt: Micros(rtt),
            delivered: Packets(delivered),
            delivered_at_send: Packets(at_send),
            cwnd_limited: limited,
            lost,
        }
    }
}

prop_compose! {
    fn window()(cwnd in word(), ssthresh in word()) -> Window {
        Window { cwnd: Packets(cwnd), ssthresh: Packets(ssthresh) }
    }
}

prop_compose! {
    fn reminis_config()(target in word(), multiple in any::<i32>(), profile in 0..3, exploration in 0..3,
                        slow in any::<bool>(), cut in any::<bool>()) -> reminis::Config {
        reminis::Config {
            target: Micros(target),
            multiple: Q16(multiple),
            profile: [Profile::Paper, Profile::Literal, Profile::Following][profile as usize],
            exploration: [Exploration::Random, Exploration::Deterministic, Exploration::Off][exploration as usize],
            proactive_slowdown: slow,
            catastrophe_mitigation: cut,
        }
    }
}

prop_compose! {
    fn advice()(bandwidth in long_word(), at in long_word(), min_rtt in word(), period in word(), flows in word())
        -> Advice {
        Advice {
            bandwidth: BytesPerSecond(bandwidth),
            measured_at: Instant(at),
            min_rtt: Micros(min_rtt),
            period: Micros(period),
            flows,
            reserved: 0,
        }
    }
}

prop_compose! {
    fn path()(now in long_word(), min_rtt in word(), probe_timeout in word(), packet_bytes in word(), rtt in word()) -> Path {
        Path { now: Instant(now), min_rtt: Micros(min_rtt), probe_timeout: Micros(probe_timeout), packet_bytes, rtt: Micros(rtt) }
    }
}

prop_compose! {
    fn tide_config()(times in [word(), word(), word(), word()], numbers in any::<[i32; 10]>(), rounds in [word(), word()],
                     competes in any::<bool>()) -> tide::Config {
        let [delay, max_target, floor_limit, drain_every] = times.map(Micros);
        let [share_of_swing, swing_quantile, floor_swings, mean_above, extra_packets, ramp_rtts, pacing, loss_threshold,
             loss_corrected, rival_margin] = numbers.map(Q16);
        let [rival_rounds, sawtooth_rounds] = rounds;
        tide::Config {
            delay, share_of_swing, swing_quantile, max_target, floor_swings, floor_limit, mean_above, extra_packets, ramp_rtts, pacing,
            drain_every, loss_threshold, loss_corrected, competes, rival_rounds, rival_margin, sawtooth_rounds,
            flows: extra_packets, restart_window: extra_packets,
        }
    }
}

prop_compose! {
    fn tide_event()(now in long_word(), counts in [word(), word(), word()], rtt in word(),
                    app_limited in any::<bool>()) -> tide::Event {
        let [delivered, delivered_at_send, acked] = counts.map(Packets);
        let app_limited = u32::from(app_limited);
        tide::Event { now: Instant(now), rtt: Micros(rtt), delivered, delivered_at_send, acked, app_limited, reserved: 0 }
    }
}

proptest! {
    #[test]
    fn reminis_takes_any_events(config in reminis_config(), steps in prop::collection::vec((ack(), window(), word()), 1..20)) {
        let mut state = Reminis::START;
        for (ack, mut window, random) in steps {
            state.on_ack(&config, &ack, &mut window, random);
        }
    }

    #[test]
    fn vegas_takes_any_events(thresholds in [word(), word(), word()], steps in prop::collection::vec((ack(), window()), 1..20)) {
        let [alpha, beta, gamma] = thresholds.map(Packets);
        let mut state = Vegas::START;
        for (ack, mut window) in steps {
            state.on_sample(&ack);
            state.on_ack(&vegas::Config { alpha, beta, gamma }, &ack, &mut window);
        }
    }

    #[test]
    fn westwood_takes_any_events(steps in prop::collection::vec((ack(), window(), word(), any::<[bool; 3]>()), 1..20)) {
        let mut state = Westwood::START;
        for (ack, mut window, before, [cut, recovered, timed_out]) in steps {
            state.on_ack(&ack);
            if cut {
                state.on_cut(westwood::Profile::Paper, Packets(before), &mut window);
            }
            if recovered {
                state.on_recovered(westwood::Profile::Linux, &mut window);
            }
            if timed_out {
                state.on_timeout(&mut window);
            }
        }
    }

    #[test]
    fn roccet_takes_any_events(steps in prop::collection::vec((ack(), window(), word(), word(), any::<[bool; 5]>()), 1..20)) {
        let mut state = Roccet::START;
        for (ack, mut window, srtt, sent, [in_recovery, lost, marked, timed_out, idle]) in steps {
            let sender = Sender { srtt: Micros(srtt), sent: Packets(sent), in_recovery };
            state.on_ack(&ack, &sender, &mut window);
            if lost {
                state.on_loss(&mut window);
            }
            if marked {
                state.on_mark(ack.now);
            }
            if timed_out {
                state.on_timeout(&mut window);
            }
            if idle {
                state.on_idle_restart(&mut window);
            }
        }
    }

    #[test]
    fn c2tcp_takes_any_events(
        v1 in any::<bool>(),
        tuner in any::<bool>(),
        numbers in [any::<i32>(), any::<i32>()],
        steps in prop::collection::vec((ack(), word(), word(), any::<bool>()), 1..20),
    ) {
        let [multiple, alpha] = numbers.map(Q16);
        let profile = if v1 { c2tcp::Profile::V1 } else { c2tcp::Profile::V2 };
        let mut state = C2tcp::START;
        for (ack, cwnd, target, in_recovery) in steps {
            let config = c2tcp::Config { profile, target: Micros(target), multiple, alpha, tuner };
            state.on_ack(&config, &ack, Packets(cwnd), in_recovery);
        }
    }

    #[test]
    fn tide_takes_any_events(config in tide_config(), steps in prop::collection::vec((tide_event(), word(), word(), any::<bool>()), 1..40)) {
        let mut state = Tide::START;
        for (event, packet_bytes, lost, new_episode) in steps {
            state.end_ticks(&config, event.now);
            state.on_ack(&config, &event);
            state.on_loss(Packets(lost), new_episode);
            if let Some(limits) = state.limits(&config, packet_bytes) {
                prop_assert!(limits.cwnd() >= Packets(2));
            }
        }
    }

    #[test]
    fn network_assistance_takes_any_advice(
        numbers in [any::<i32>(), any::<i32>(), any::<i32>()],
        shares in any::<bool>(),
        steps in prop::collection::vec((advice(), path()), 1..20),
    ) {
        let [alpha, pacing_gain, timeout_periods] = numbers.map(Q16);
        let config = assisted::Config { alpha, pacing_gain, timeout_periods, paces_at_share: shares };
        let mut state = Assisted::START;
        for (advice, path) in steps {
            let mut limits = Limits { pacing: BytesPerSecond(0), cwnd: Packets(0) };
            let follows = state.on_ack(&config, &advice, &path, &mut limits);
            prop_assert!(!follows || (limits.cwnd >= Packets(2) && limits.pacing >= BytesPerSecond(1)));
        }
    }
}

//! The registry's answers on the schemes of cellcc, and on others.

use crate::fixed_window::FixedWindow;
use crate::registry;
use crate::testing::CONTEXT;
use cellcc_control::{
    Flow, Limits, Parameter, Preset, Registry, Scheme, SchemeInfo, Sent, Tag, kind, split_list,
};
use cellcc_units::{Span, Time};

fn scheme(text: &str) -> Scheme {
    registry().parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn message(text: &str) -> String {
    registry().parse(text).expect_err("refused").to_string()
}

/// A scheme that declares that it ignores departures is not called: had it something to do there, it would never do it.
#[test]
fn a_scheme_that_does_not_hear_departures_would_do_nothing_at_one() {
    let mut silent = 0;
    for info in registry().schemes() {
        let mut controller = scheme(&info.name).build(&CONTEXT);
        if controller.hears_departures() {
            continue;
        }
        silent += 1;
        let before = (controller.limits(), controller.next_timer());
        for number in 0..100 {
            let (now, bytes) = (Time::ZERO + Span::from_millis(number), CONTEXT.packet);
            let mut sent = Sent::new(now, number, bytes);
            sent.inflight = bytes * (number + 1);
            assert_eq!(controller.on_sent(&sent), Tag::default(), "{}", info.name);
            assert_eq!((controller.limits(), controller.next_timer()), before, "{}", info.name);
        }
    }
    assert_ne!(silent, 0);
}

/// Nor are limits and timer read after a departure where a scheme declares that none changes them.
#[test]
fn a_departure_changes_no_limits_where_a_scheme_says_so() {
    let mut only_tagged = 0;
    for info in registry().schemes() {
        let mut flow = Flow::new(scheme(&info.name).build(&CONTEXT), CONTEXT.packet);
        if flow.controller().departures_change_limits() {
            continue;
        }
        only_tagged += u32::from(flow.controller().hears_departures());
        let (mut now, rtt) = (Time::ZERO, Span::from_millis(40));
        // Each tenth round loses its first three packets, and a pause follows each seventh.
        for round in 0..500 {
            let mut packets = Vec::new();
            for _ in 0..10 {
                let before = (flow.controller().limits(), flow.controller().next_timer());
                packets.push(flow.on_sent(now, CONTEXT.packet));
                let after = (flow.controller().limits(), flow.controller().next_timer());
                assert_eq!(after, before, "{} in round {round}", info.name);
            }
            now += rtt;
            let lost = if round % 10 == 9 { 3 } else { 0 };
            flow.on_loss(now, &packets[..lost]);
            flow.on_ack(now, &packets[lost..], Some(rtt), None);
            now += if round % 7 == 6 { rtt * 50 } else { Span::ZERO };
            if flow.next_timer().is_some_and(|due| due <= now) {
                flow.on_timer(now);
            }
        }
    }
    assert_ne!(only_tagged, 0);
}

#[test]
fn an_unknown_name_is_answered_with_those_there_are() {
    let message = message("nosuch");
    assert!(message.starts_with("unknown scheme `nosuch`; there are "), "{message}");
    for info in registry().schemes() {
        assert!(message.contains(&*info.name), "{message}");
    }
}

#[test]
fn an_unknown_key_is_answered_with_those_there_are() {
    let message = |key| message(&format!("bbr({key}=on)"));
    assert_eq!(
        message("nosuch"),
        "scheme `bbr` has no parameter `nosuch`; it has aggregation, sampler, pacing"
    );
    assert_eq!(
        message("pacnig"),
        "scheme `bbr` has no parameter `pacnig`; did you mean `pacing`? It has aggregation, sampler, pacing"
    );
}

#[test]
fn a_misspelt_name_is_answered_with_the_one_that_was_meant_first() {
    for (given, meant) in [("cubicle", "cubic"), ("vegsa", "vegas"), ("natpc", "natcp")] {
        let expected = format!("unknown scheme `{given}`; did you mean `{meant}`? There are ");
        assert!(message(given).starts_with(&expected), "{}", message(given));
    }
}

#[test]
fn a_bad_value_is_answered_with_what_is_taken() {
    for (text, expected) in [
        ("cubic(hystart=yes)", "`hystart=yes` is refused; hystart takes off, on, linux"),
        ("bbr(sampler=mean)", "`sampler=mean` is refused; sampler takes min, max"),
        (
            "rbbr(feedback-every=1.5)",
            "`feedback-every=1.5` is refused; feedback-every takes a whole number from 1 to 1000",
        ),
        ("rbbr(feedback-every=0)", "feedback-every takes a whole number from 1 to 1000"),
        ("fixed-window(window=100)", "window takes a count of packets from 1pkt to 10000000pkt"),
        ("fixed-window(window=0pkt)", "window takes a count of packets from 1pkt"),
        ("fixed-window(window=-1pkt)", "window takes a count of packets from 1pkt"),
        ("fixed-rate(rate=0Mbit/s)", "rate takes a rate above zero"),
        ("fixed-rate(rate=10)", "rate takes a rate above zero"),
        ("fixed-rate(rate=)", "rate takes a rate above zero"),
    ] {
        assert!(message(text).contains(expected), "{text}: {}", message(text));
    }
}

#[test]
fn what_is_not_a_call_is_refused_with_the_reason() {
    for (text, problem) in [
        ("cubic(hystart=on,hystart=on)", "a parameter is given twice"),
        ("cubic(hystart=on", "the `)` at the end is missing"),
        ("cubic)", "a `)` has no `(`"),
        ("cubic(hystart)", "an argument has no `=`"),
    ] {
        assert!(message(text).ends_with(problem), "{text}: {}", message(text));
    }
}

#[test]
fn every_scheme_builds_from_its_defaults_spelled_out() {
    let registry = registry();
    for info in registry.schemes() {
        let spelled: Vec<_> = info.parameters.iter().map(|p| format!("{}={}", p.name, p.default)).collect();
        let text = format!("{}({})", info.name, spelled.join(","));
        let scheme = registry.parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let bare = registry.parse(&info.name).unwrap_or_else(|error| panic!("{error}"));
        assert!(scheme.arguments().has_values_of(bare.arguments()), "{text}");
        assert_eq!(scheme.build(&CONTEXT).limits(), bare.build(&CONTEXT).limits(), "{text}");
        assert!(scheme.build(&CONTEXT).limits().window >= CONTEXT.packet, "{text}");
    }
}

#[test]
fn the_canonical_text_has_the_order_of_the_parameter_list() {
    let scheme = registry().parse(" bbr ( pacing = off , aggregation=on ) ").expect("known");
    assert_eq!(scheme.text(), "bbr(aggregation=on,pacing=off)");
    assert_eq!(registry().parse("cubic()").expect("known").text(), "cubic");
}

#[test]
fn a_scheme_of_the_same_name_takes_the_place_of_the_old_one() {
    let mut registry = registry();
    let count = registry.schemes().len();
    let mut cubic = registry.parse("cubic").expect("known").info().clone();
    cubic.summary = "mine".into();
    registry.register(cubic);
    assert_eq!(registry.schemes().len(), count);
    assert_eq!(registry.parse("cubic").expect("known").info().summary, "mine");
}

#[test]
fn every_preset_builds_and_is_what_its_values_say() {
    for info in registry().schemes() {
        for preset in &info.presets {
            let (parameter, name) = (&preset.parameter, &preset.name);
            let chosen = scheme(&format!("{}({parameter}={name})", info.name));
            assert!(chosen.build(&CONTEXT).limits().window >= CONTEXT.packet, "{}", chosen.text());
            let values: String = preset.values().map(|(key, value)| format!(",{key}={value}")).collect();
            let spelled = scheme(&format!("{}({parameter}={name}{values})", info.name));
            assert!(spelled.arguments().has_values_of(chosen.arguments()), "{}", spelled.text());
        }
    }
}

#[test]
fn every_value_of_a_parameter_that_chooses_presets_has_one() {
    for info in registry().schemes() {
        for preset in &info.presets {
            let chooser =
                info.parameters.iter().find(|known| known.name == preset.parameter).expect("listed");
            let named = |word: &String| {
                info.presets.iter().any(|known| known.parameter == preset.parameter && known.name == *word)
            };
            assert!(chooser.words.iter().all(named), "{}: {:?}", info.name, chooser.words);
        }
    }
}

#[test]
fn an_argument_that_is_given_wins_over_the_preset() {
    const R: Parameter<kind::Number> = Parameter::new("r", kind::Number(1.0, 1000.0), 0.0, "", "");
    for (text, r, given) in [
        ("verus", 4.0, None),
        ("verus(preset=authors)", 6.0, None),
        ("verus(preset=robust,r=6)", 6.0, Some(6.0)),
        ("verus(r=3,preset=sigcomm15)", 3.0, Some(3.0)),
    ] {
        let scheme = scheme(text);
        assert_eq!((scheme.arguments().get(&R), scheme.arguments().given(&R)), (r, given), "{text}");
    }
    for info in registry().schemes() {
        for preset in &info.presets {
            let chosen = scheme(&format!("{}({}={})", info.name, preset.parameter, preset.name));
            for (key, value) in preset.values() {
                let known = info.parameters.iter().find(|known| known.name == key).expect("listed");
                let text =
                    format!("{}({}={},{key}={})", info.name, preset.parameter, preset.name, known.default);
                let is_same = scheme(&text).arguments().has_values_of(chosen.arguments());
                let left_to_preset = known.default == preset.parameter;
                assert_eq!(is_same, left_to_preset, "{text} where the preset has {value}");
            }
        }
    }
}

#[test]
fn the_preset_of_a_bare_name_is_the_one_to_run_and_that_of_the_paper_is_known() {
    let default = |text: &str| scheme(text).default_preset().map(|preset| preset.name.clone());
    for (text, name) in [("rbbr(alpha=0.5)", "paced"), ("verus", "robust"), ("reminis(dtt=2x)", "paper")] {
        assert_eq!(default(text).as_deref(), Some(name), "{text}");
        assert!(scheme(text).info().papers_preset().is_some(), "{text}");
    }
    assert_eq!((default("rbbr(profile=paced)"), default("newreno")), (None, None));
}

#[test]
fn an_argument_may_be_left_to_the_preset() {
    for profile in ["paper", "code2022"] {
        let left = scheme(&format!("reminis(profile={profile},aimd=profile)"));
        let bare = scheme(&format!("reminis(profile={profile})"));
        assert!(left.arguments().has_values_of(bare.arguments()));
        assert_eq!(left.text(), format!("reminis(profile={profile},aimd=profile)"));
    }
    let [reno, cubic] = ["reno", "cubic"]
        .map(|aimd| scheme(&format!("reminis(profile=code2022,aimd={aimd})")).arguments().clone());
    let bare = scheme("reminis(profile=code2022)").arguments().clone();
    assert!(cubic.has_values_of(&bare) && !reno.has_values_of(&bare));
    assert!(message("reminis(dtt=profile)").contains("dtt takes a time such as 40ms"));
}

#[test]
fn every_default_reads_as_itself() {
    for info in registry().schemes() {
        for parameter in &info.parameters {
            assert!(parameter.default_reads_as_itself(), "{parameter:?}");
        }
    }
}

/// A scheme whose names are known only at run time, and whose builder holds state.
fn loaded(name: &str, packets_per_unit: u64) -> SchemeInfo {
    let units = || Parameter {
        name: format!("{name}-units").into(),
        takes: kind::Count(1, 100),
        default: 3,
        meaning: "units of the window".into(),
        source: "this test".into(),
    };
    let asked = units();
    SchemeInfo::new(
        name.to_owned(),
        format!("windows of {packets_per_unit} packets"),
        "this test",
        move |arguments, context| {
            let packets = packets_per_unit * u64::from(arguments.get(&asked));
            Box::new(FixedWindow::new(context.packet * packets))
        },
    )
    .parameters(vec![units().into()])
}

#[test]
fn a_scheme_can_be_registered_at_run_time() {
    let mut registry = registry();
    for (name, packets) in [("model-a", 5), ("model-b", 7)] {
        registry.register(loaded(name, packets));
    }
    let limits = |text: &str| registry.parse(text).expect("registered").build(&CONTEXT).limits();
    assert_eq!(limits("model-a"), Limits::window_only(CONTEXT.packet * 15));
    assert_eq!(limits("model-b(model-b-units=2)"), Limits::window_only(CONTEXT.packet * 14));
    assert_eq!(registry.parse("nacap(base=model-a)").expect("known").text(), "nacap(base=model-a)");
    assert_eq!(
        registry.parse("model-a(units=2)").expect_err("refused").to_string(),
        "scheme `model-a` has no parameter `units`; it has model-a-units"
    );
}

#[test]
fn a_preset_that_cannot_be_read_is_refused_by_name() {
    let bad = |sets: &'static str| {
        let mut info = loaded("model", 1);
        let preset = Preset {
            parameter: "model-units".into(),
            name: "3".into(),
            summary: "a preset".into(),
            source: "this test".into(),
            sets: sets.into(),
        };
        info.presets.push(preset);
        Registry::new([info]).parse("model").expect_err("refused").to_string()
    };
    assert_eq!(bad("gain=2"), "scheme `model` has no parameter `gain`; it has model-units");
    assert!(bad("model-units=0").contains("`model-units=0` is refused"));
    assert!(bad("model-units").ends_with("an argument has no `=`"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "(cubic|bbr|fixed-rate|x)?[(]?[a-z=,() 0-9.\\PC]{0,20}[)]?") {
        let _ = registry().parse(&text);
        let _ = split_list(&text);
    }
}

#[test]
fn two_names_of_one_profile_mean_the_same() {
    for [one, other] in [
        ["rbbr(profile=paced)", "rbbr"],
        ["verus(preset=authors)", "verus(preset=reference)"],
        ["verus(preset=robust)", "verus"],
        ["verus(preset=paper)", "verus(preset=sigcomm15)"],
        ["reminis(profile=paper)", "reminis"],
        ["reminis(profile=authors)", "reminis(profile=code2022)"],
    ] {
        assert!(scheme(one).arguments().has_values_of(scheme(other).arguments()), "{one}, {other}");
    }
}

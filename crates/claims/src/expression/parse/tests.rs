use super::*;
use crate::expression::RunValue;
use crate::runs::DataRuns;
use crate::{Quantity, Units};

fn problem(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

fn runs(text: &str) -> Vec<RunValue> {
    let expression = parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).written_out();
    let mut runs = Vec::new();
    expression.each_run(&mut |run| runs.push(run.clone()));
    runs
}

#[test]
fn a_scheme_may_have_commas_signs_and_brackets_of_its_own() {
    let found = runs(
        "mean(queueing_delay_mean_ms(3*cubic(variant=linux,hystart=on)+vegas@30s#1) / rtt_p95_ms(bbr; path.queue=codel(limit=100pkt), trace=*.up))",
    );
    assert_eq!(found[0].scheme, "3*cubic(variant=linux,hystart=on)+vegas@30s#1");
    assert_eq!(
        found[1].conditions,
        [("path.queue".into(), "codel(limit=100pkt)".into()), ("trace".into(), "*.up".into())]
    );
}

#[test]
fn a_data_set_holds_to_the_end_of_its_bracket() {
    let found = runs("sa: -(4g-x: power(a)) + power(b) > 3g: power(c)");
    let data: Vec<_> = found.iter().map(|run| run.data.as_deref().unwrap()).collect();
    assert_eq!(data, ["4g-x", "sa", "3g"]);
}

#[test]
fn a_variable_stands_in_schemes_and_conditions() {
    let found = runs("let few = [a(x=1,y=2), b]; pairs(over(s in few: mean(power($s; path.queue=$s))))");
    assert_eq!((found[0].scheme.as_str(), found[1].scheme.as_str()), ("a(x=1,y=2)", "b"));
    assert_eq!(found[1].conditions[0].1, "b");
}

#[test]
fn what_is_wrong_is_named_with_what_to_write() {
    for (text, expected) in [
        ("mean(rtt_p95_mss(cubic))", "did you mean `rtt_p95_ms`?"),
        ("maen(power(cubic))", "did you mean `mean`?"),
        ("mean(power)", "`power(cubic)`"),
        ("mean(power())", "names no scheme"),
        ("mean(power(cubic)", "`)` is missing"),
        ("power(cubic) power(bbr)", "follows a complete expression"),
        ("power(cubic; 10s..20s)", "window_mean(cubic"),
        ("window_mean(cubic; 10s..20s)", "names no column"),
        ("window_mean(cubic; rtt_ms, 10..20)", "`10`"),
        ("over(s in [a, b])", "`:` is missing"),
        ("", "the end is not the beginning"),
        ("1.2.3", "`1.2.3` is not a number"),
        ("flowx.power(cubic)", "`flow0`"),
    ] {
        let problem = problem(text);
        assert!(problem.contains(expected), "{text}: `{expected}` is not in: {problem}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC*") {
        let _ = parse(&text);
    }

    #[test]
    fn nor_does_one_of_pieces_that_it_knows(pieces in proptest::collection::vec(
        proptest::sample::select(vec![
            "mean(", "over(", "pairs(", "power", "(", ")", "[", "]", ",", ";", ":", "a", "sa:", "1.5", "%", "-", "<", "and ",
            "let ", "= ", "window_mean(", "reached_s(", "x >= 2", "10s..", "for 1s", "$a", "in ", "path.queue", "=3pkt", " ",
        ]), 0..40,
    )) {
        let _ = parse(&pieces.concat());
    }

    #[test]
    fn nor_do_many_brackets(depth in 0_usize..5_000) {
        let _ = parse(&"(".repeat(depth));
        let _ = parse(&"-".repeat(depth));
    }
}

/// 20,000 terms used to overflow the stack: a chain of operators is a tree as deep as it is long. Half a megabyte of stack is less
/// than any thread has here.
#[test]
fn the_longest_expression_is_read_and_computed_on_a_small_stack_and_a_longer_one_is_refused() {
    let chain = |sign: &str, terms: usize| vec!["1"; terms].join(sign);
    let compute = move || {
        for sign in ["+", "-", "*", "/", " and ", " or "] {
            let whole = parse(&chain(sign, MOST_TERMS)).unwrap_or_else(|error| panic!("{sign}: {error}"));
            let quantity = Quantity::new(&whole, None, &DataRuns::new(), Units::Traces).unwrap();
            assert!(!quantity.number().is_nan(), "{sign}");
        }
        // An operand in the middle counts twice.
        assert!(parse(&chain("<", MOST_TERMS / 2)).is_ok());
        for sign in ["+", "-", "*", "/", " and ", " or ", "<", ","] {
            let error = parse(&format!("mean([{}])", chain(sign, 20_000))).unwrap_err();
            assert!(error.problem.contains("more than 1000 terms") && error.at < 10_000, "{sign}: {error:?}");
        }
    };
    std::thread::Builder::new().stack_size(1 << 19).spawn(compute).unwrap().join().unwrap();
}

#[test]
fn what_is_repeated_counts_as_often() {
    let values = vec!["a"; 500].join(",");
    let over = |terms: usize| format!("over(s in [{values}]: {})", vec!["1"; terms].join("+"));
    assert!(parse(&over(2)).is_err_and(|error| error.problem.contains("more than 1000 terms")));
    let nested = |levels: usize| "0 < (".repeat(levels) + "1" + &") < 1".repeat(levels);
    assert!(parse(&nested(5)).is_ok());
    assert!(parse(&nested(11)).is_err_and(|error| error.problem.contains("more than 1000 terms")));
}

/// The pairs of 30,000 constants took 40 s.
#[test]
fn more_numbers_than_can_be_computed_are_refused() {
    let pairs = |count: usize| parse(&format!("mean(pairs([{}]))", vec!["1"; count].join(","))).unwrap();
    let computed =
        |count| Quantity::new(&pairs(count), None, &DataRuns::new(), Units::Traces).map(|it| it.number());
    assert_eq!(computed(140), Ok(0.0));
    assert!(computed(150).is_err_and(|error| error.problem.contains("more than 10000 numbers")));
}

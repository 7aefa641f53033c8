//! Several flows in one line: `2*cubic + reminis:sized(10MB)@5s..60s`.

use crate::{FlowSetup, NOQ, Source};
use cellcc_units::{Span, Time, split_outside_parentheses};
use thiserror::Error;

/// The most flows in one run: the simulator takes 20 kB for each of them, and their series would fill the memory.
const MOST_FLOWS: usize = 10_000;

/// The flows of a run, as named on the command line and in tables.
///
/// ```text
/// mix  = flow { "+" flow }
/// flow = [ count "*" ] [ "noq:" ] scheme [ ":" source ] [ "@" start [ ".." stop ] ] [ "~" extra-rtt ]
///        [ "^" first-window ] [ "#" user ]
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// The text as given, spaces removed around the signs.
    pub text: String,
    /// The flows, in the order of the text.
    pub flows: Vec<FlowSetup>,
}

/// Reason why a text is not a mix of flows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{flow}`: {problem}. A flow is written SCHEME[:SOURCE][@START[..STOP]][~EXTRA-RTT][^FIRST-WINDOW][#USER], several are joined by `+`"
)]
pub struct MixError {
    flow: String,
    problem: String,
}

impl Mix {
    /// Reads a mix. The schemes' names are not checked here: only a driver knows what it can run.
    ///
    /// # Errors
    /// A malformed source, time or count; more than 10,000 flows.
    pub fn parse(text: &str) -> Result<Self, MixError> {
        let mut flows = Vec::new();
        let mut texts = Vec::new();
        for part in split_outside_parentheses(text, '+') {
            let refused = |problem| MixError { flow: part.trim().chars().take(80).collect(), problem };
            let (count, flow) = read_flow(part).map_err(refused)?;
            if flows.len() + count > MOST_FLOWS {
                let before = flows.len();
                return Err(refused(format!(
                    "with the {before} flows before it, more than {MOST_FLOWS} in one run"
                )));
            }
            flows.extend(std::iter::repeat_n(flow, count));
            texts.push(part.trim());
        }
        Ok(Self { text: texts.join("+"), flows })
    }
}

fn read_flow(text: &str) -> Result<(usize, FlowSetup), String> {
    let text = text.trim();
    let (count, text) = match text.split_once('*') {
        Some((count, rest)) if !count.contains('(') => {
            let count = count.trim().parse().ok().filter(|count| (1..=MOST_FLOWS).contains(count));
            (count.ok_or_else(|| format!("the count before `*` must be 1 to {MOST_FLOWS}"))?, rest)
        }
        _ => (1, text),
    };
    let (text, user) = cut(text, '#');
    let (text, initial_window) = cut(text, '^');
    let (text, extra_rtt) = cut(text, '~');
    let (text, times) = cut(text, '@');
    let (prefix, text) = text.split_at(if text.starts_with(NOQ) { NOQ.len() } else { 0 });
    let (scheme, source) = cut(text, ':');
    if scheme.is_empty() {
        return Err("a scheme is missing".into());
    }
    let source = source.map_or(Ok(Source::Bulk), str::parse)?;
    let (start, stop) = times.map_or(Ok((Time::ZERO, None)), read_times)?;
    let user = user
        .map_or(Ok(0), |user| user.parse().map_err(|_| format!("`#{user}` is not the number of a user")))?;
    let extra_rtt = extra_rtt.map_or(Ok(Span::ZERO), |rtt| {
        rtt.parse().map_err(|_| format!("`~{rtt}` is not a time such as `~30ms`"))
    })?;
    let initial_window =
        initial_window.map(|window| window.parse().map_err(|error| format!("`^{window}`: {error}")));
    let initial_window = initial_window.transpose()?;
    let scheme = format!("{prefix}{scheme}");
    Ok((count, FlowSetup { scheme, start, stop, source, user, extra_rtt, initial_window }))
}

fn read_times(text: &str) -> Result<(Time, Option<Time>), String> {
    let time = |text: &str| text.trim().parse::<Time>().map_err(|error| error.to_string());
    let Some((start, stop)) = text.split_once("..") else { return Ok((time(text)?, None)) };
    let (start, stop) = (time(start)?, time(stop)?);
    if stop <= start {
        return Err(format!("it stops at {stop}, not after its start at {start}"));
    }
    Ok((start, Some(stop)))
}

/// The text before and after the first `sign` outside parentheses.
fn cut(text: &str, sign: char) -> (&str, Option<&str>) {
    let first = split_outside_parentheses(text, sign).next().unwrap_or(text);
    let rest = text.get(first.len() + sign.len_utf8()..);
    (first.trim(), rest.map(str::trim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_carry_counts_sources_and_times() {
        let mix = Mix::parse("2*cubic + reminis(dtt=40ms):sized(10MB)@5s..60s").unwrap();
        assert_eq!(mix.text, "2*cubic+reminis(dtt=40ms):sized(10MB)@5s..60s");
        assert_eq!(mix.flows.len(), 3);
        assert_eq!(mix.flows[1].scheme, "cubic");
        let last = &mix.flows[2];
        assert_eq!(
            (last.scheme.as_str(), last.source.to_string()),
            ("reminis(dtt=40ms)", "sized(10MB)".into())
        );
        assert_eq!((last.start.to_string(), last.stop.unwrap().to_string()), ("5s".into(), "60s".into()));
    }

    #[test]
    fn a_flow_may_have_a_longer_path_and_belong_to_another_user() {
        let mix = Mix::parse("vegas@1s~30ms#2").unwrap();
        assert_eq!((mix.flows[0].extra_rtt, mix.flows[0].user), (Span::from_millis(30), 2));
    }

    #[test]
    fn a_controller_of_noq_may_have_a_source() {
        let mix = Mix::parse("noq:cubic + 2*noq:bbr3:rate(2Mbit/s)").unwrap();
        let flows = mix.flows.iter().map(|flow| format!("{} {}", flow.scheme, flow.source));
        let flows: Vec<_> = flows.collect();
        assert_eq!(flows, ["noq:cubic bulk", "noq:bbr3 rate(2Mbit/s)", "noq:bbr3 rate(2Mbit/s)"]);
    }

    #[test]
    fn a_flow_that_ends_before_it_starts_is_refused() {
        let error = Mix::parse("cubic@5s..2s").unwrap_err();
        assert!(error.to_string().contains("stops at 2s"), "{error}");
    }

    /// 20,000 flows joined by `+` were taken while `20000*cubic` was not.
    #[test]
    fn more_flows_than_a_run_can_hold_are_refused_however_they_are_written() {
        for text in ["cubic+".repeat(20_000) + "cubic", "9000*cubic+1001*vegas".into(), "10001*cubic".into()]
        {
            let error = Mix::parse(&text).unwrap_err().to_string();
            assert!(error.contains("10000") && error.len() < 250, "{error}");
        }
        assert_eq!(Mix::parse("9000*cubic+1000*vegas").unwrap().flows.len(), 10_000);
    }

    #[test]
    fn what_is_left_out_or_misspelt_is_named() {
        for (text, problem) in [
            ("", "a scheme is missing"),
            ("cubic+", "a scheme is missing"),
            ("0*cubic", "count"),
            ("cubic@5", "`5`"),
            ("cubic~5", "`~5`"),
            ("cubic^5", "`^5`: "),
        ] {
            let error = Mix::parse(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = Mix::parse(&text);
        }
    }
}

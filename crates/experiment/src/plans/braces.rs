//! Alternatives in braces, as shells have them: `"rbbr(alpha={0.1,0.5})"` is `"rbbr(alpha=0.1)"` and `"rbbr(alpha=0.5)"`.

use cellcc_units::{MOST_BYTES, MOST_TERMS, split_outside_parentheses};
use thiserror::Error;

/// Reason why the braces of a text cannot be expanded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}`: {problem}. Alternatives are written `rbbr(alpha={{0.1,0.5}})`")]
pub struct BraceError {
    text: String,
    problem: String,
}

/// The texts that `text` stands for: one for each alternative in braces, for several braces one for each combination,
/// the last brace changing first. A comma in parentheses or inner braces does not separate alternatives.
///
/// # Errors
/// A brace without its partner, an alternative that is empty, more than [`MOST_TERMS`] braces or texts, or texts that are too long.
pub fn expand_braces(text: &str) -> Result<Vec<String>, BraceError> {
    let refused = |problem: String| BraceError { text: text.chars().take(80).collect(), problem };
    if text.matches('{').count() > MOST_TERMS {
        return Err(refused(format!("it has more than {MOST_TERMS} pairs of braces")));
    }
    let mut texts = vec![text.to_owned()];
    // Each round expands the first pair of every text, until none has any.
    while texts.iter().any(|text| text.contains(['{', '}'])) {
        let mut expanded = Vec::new();
        let mut bytes = 0;
        let mut add = |text: String| {
            bytes += text.len();
            expanded.push(text);
            match () {
                () if expanded.len() > MOST_TERMS => {
                    Err(refused(format!("it stands for more than {MOST_TERMS} texts")))
                }
                () if bytes > MOST_BYTES => {
                    Err(refused(format!("its texts have more than {MOST_BYTES} bytes")))
                }
                () => Ok(()),
            }
        };
        for text in &texts {
            match first_brace(text).map_err(|problem| refused(problem.into()))? {
                None => add(text.clone())?,
                Some((before, inside, after)) => {
                    for alternative in split_outside_parentheses(inside, ',').map(str::trim) {
                        if alternative.is_empty() {
                            return Err(refused("an alternative in braces is empty".into()));
                        }
                        add(format!("{before}{alternative}{after}"))?;
                    }
                }
            }
        }
        texts = expanded;
    }
    Ok(texts)
}

/// The text before, in and after the first pair of braces.
fn first_brace(text: &str) -> Result<Option<(&str, &str, &str)>, &'static str> {
    let Some(open) = text.find(['{', '}']) else { return Ok(None) };
    if text[open..].starts_with('}') {
        return Err("a `}` has no `{` before it");
    }
    let mut depth = 0_usize;
    for (at, sign) in text[open..].match_indices(['{', '}']) {
        depth = if sign == "{" { depth + 1 } else { depth - 1 };
        if depth == 0 {
            let close = open + at;
            return Ok(Some((&text[..open], &text[open + 1..close], &text[close + 1..])));
        }
    }
    Err("a `{` is not closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_braces_make_every_combination() {
        assert_eq!(
            expand_braces("r(a={1, 2},b={x,y})+cubic").unwrap(),
            ["r(a=1,b=x)+cubic", "r(a=1,b=y)+cubic", "r(a=2,b=x)+cubic", "r(a=2,b=y)+cubic"]
        );
        assert_eq!(expand_braces("cubic").unwrap(), ["cubic"]);
    }

    #[test]
    fn parentheses_and_braces_nest() {
        assert_eq!(
            expand_braces("{nacap(base={cubic,bbr},alpha=1),natcp}").unwrap(),
            ["nacap(base=cubic,alpha=1)", "nacap(base=bbr,alpha=1)", "natcp"]
        );
    }

    #[test]
    fn braces_that_do_not_pair_are_refused() {
        for (text, problem) in [
            ("a(x={1,2)", "not closed"),
            ("a(x=1})", "no `{`"),
            ("a(x={1,})", "empty"),
            ("a(x={})", "empty"),
            ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "more than 1000"),
        ] {
            let error = expand_braces(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(problem), "{text}: {error}");
        }
    }

    /// Each pair of braces copies all texts: 9 pairs of two alternatives and 2,000 of one before 100 kB took minutes.
    #[test]
    fn more_braces_or_text_than_can_be_meant_are_refused() {
        let many = "{a,b}".repeat(9);
        for (text, problem) in [
            (format!("{many}{}", "{c}".repeat(1_000)), "more than 1000 pairs"),
            (format!("{many}{}", "x".repeat(100_000)), "more than 1000000 bytes"),
        ] {
            let error = expand_braces(&text).unwrap_err().to_string();
            assert!(error.contains(problem) && error.len() < 300, "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[a{},()]{0,40}") {
            let _ = expand_braces(&text);
        }
    }
}

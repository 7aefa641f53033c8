//! The XML of JUnit, as far as CI systems read it.

use crate::report::{Outcome, Report, Verdict};
use std::fmt::Write;

/// A suite with a test case for each verdict.
pub(crate) fn text(report: &Report) -> String {
    let count = |wanted: fn(&Outcome) -> bool| {
        report.verdicts.iter().filter(|verdict| wanted(&verdict.outcome)).count()
    };
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        xml,
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">",
        escaped(&report.name),
        report.verdicts.len(),
        count(|outcome| matches!(outcome, Outcome::Fail(_))),
        count(|outcome| matches!(outcome, Outcome::Error(_)))
    );
    for Verdict { case, title, outcome } in &report.verdicts {
        let (class, name) = case.split_once('/').unwrap_or(("", case));
        let _ = write!(
            xml,
            "  <testcase classname=\"{}\" name=\"{}: {}\"",
            escaped(class),
            escaped(name),
            escaped(title)
        );
        let _ = match outcome {
            Outcome::Pass => writeln!(xml, "/>"),
            Outcome::Fail(why) => writeln!(xml, "><failure message=\"{}\"/></testcase>", escaped(why)),
            Outcome::Error(why) => writeln!(xml, "><error message=\"{}\"/></testcase>", escaped(why)),
        };
    }
    xml.push_str("</testsuite>\n");
    xml
}

/// Text within quotes. What XML has no way to say, such as a terminal's colours in the words of a panic, becomes `?`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_and_a_panic_are_counted_apart_and_their_words_are_escaped() {
        let verdict = |case: &str, outcome| Verdict { case: case.into(), title: "a & b".into(), outcome };
        let verdicts = vec![
            verdict("bbr/1", Outcome::Pass),
            verdict("bbr/2", Outcome::Fail("loss_ratio 0.3, wanted <= 0.1".into())),
            verdict("bbr/3", Outcome::Error("it panicked: \"\u{1b}no\"".into())),
        ];
        let xml = text(&Report { name: "mine".into(), verdicts });
        assert!(xml.contains("<testsuite name=\"mine\" tests=\"3\" failures=\"1\" errors=\"1\">"), "{xml}");
        assert!(xml.contains("<testcase classname=\"bbr\" name=\"1: a &amp; b\"/>"), "{xml}");
        assert!(xml.contains("<failure message=\"loss_ratio 0.3, wanted &lt;= 0.1\"/>"), "{xml}");
        assert!(xml.contains("<error message=\"it panicked: &quot;?no&quot;\"/>"), "{xml}");
    }
}

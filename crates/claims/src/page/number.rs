//! Numbers in the text of a page.

/// Byte range of a number in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The numbers of a text: 1234.5, -3, 30 400; no part of a word such as `p95` or `r=2`.
pub(super) fn numbers(text: &str) -> Vec<Found> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let before = text[..at].chars().next_back();
        let follows_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.' || c == '=');
        let signed = usize::from(matches!(bytes[at], b'-' | b'+'));
        let first = if at + signed < bytes.len() { digits(at + signed) } else { 0 };
        if follows_word || first == 0 {
            // Whole characters: a text is cut at their ends only.
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let mut end = at + signed + first;
        // Groups of three after one to three digits.
        while first <= 3 && bytes.get(end) == Some(&b' ') && digits(end + 1) >= 3 {
            end += 4;
        }
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            end += 1 + digits(end + 1);
        }
        found.push(Found { start: at, end });
        at = end;
    }
    found
}

/// Value of one unit in the last digit shown.
fn unit_of(text: &str) -> f64 {
    let power = |count: usize| std::iter::repeat_n(10.0, count).product::<f64>();
    match text.split_once('.') {
        Some((_, decimals)) => 1.0 / power(decimals.len()),
        // 30 400 is rounded, 200 need not be.
        None if text.contains(' ') => power(text.len() - text.trim_end_matches('0').len()),
        None => 1.0,
    }
}

/// `None` if the text is the value rounded to the digits that it shows; else true if it is off by more than one in the last.
pub(super) fn agrees(text: &str, value: f64) -> Option<bool> {
    let shown: f64 = text.replace(' ', "").parse().unwrap_or(f64::NAN);
    let off = (value - shown).abs() / unit_of(text);
    // By one in the last digit: rounding. By more: something else has changed.
    (off.is_nan() || off > 0.5 + 1e-6).then(|| off.is_nan() || off > 1.5)
}

/// The value with the decimals, the rounding and the thousands of the number that is shown.
pub(super) fn in_form_of(shown: &str, value: f64) -> String {
    let unit = unit_of(shown);
    let decimals = shown.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let plain = format!("{:.decimals$}", (value / unit).round_ties_even() * unit);
    if !shown.contains(' ') && value.abs() < 10_000.0 {
        return plain;
    }
    let (whole, fraction) = plain.split_once('.').map_or((plain.as_str(), None), |(a, b)| (a, Some(b)));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut groups = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            groups.push(' ');
        }
        groups.push(digit);
    }
    format!("{sign}{groups}{}", fraction.map(|fraction| format!(".{fraction}")).unwrap_or_default())
}

/// The value with a digit more than is shown.
pub(super) fn with_one_more(shown: &str, value: f64) -> String {
    let decimals = shown.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{value:.*}", decimals + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_no_parts_of_words() {
        let found =
            |text: &'static str| numbers(text).iter().map(|n| &text[n.start..n.end]).collect::<Vec<_>>();
        assert_eq!(
            found("p95 of r=2: 1234.5, **-3** (30 400; 12 345.5)"),
            ["1234.5", "-3", "30 400", "12 345.5"]
        );
        assert_eq!(found("1.2.3 – 5 %, v0.1"), ["1.2", "5"]);
        assert_eq!(found("1 2 345 12"), ["1", "2 345", "12"]);
    }

    #[test]
    fn a_number_is_replaced_in_its_own_form() {
        assert_eq!(in_form_of("1.65", 2.0), "2.00");
        assert_eq!(in_form_of("30 400", 31_260.0), "31 300");
        assert_eq!(in_form_of("9876", 10_300.4), "10 300");
        assert_eq!(in_form_of("-3", -4.6), "-5");
        assert_eq!((agrees("30 400", 30_449.0), agrees("30 400", 30_460.0)), (None, Some(false)));
    }
}

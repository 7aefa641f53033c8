//! Texts that others have chosen, such as names of files, as a terminal may have them.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text in one line, without characters that a terminal would obey: control characters, and those that turn the direction
/// of writing, as JSON escapes them: `\u001b`.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Makes a text of several lines printable; its line breaks and tabs stay.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, stays: fn(char) -> bool) -> Cow<'_, str> {
    let is_obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(|c| is_obeyed(c) && !stays(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_obeyed(c) && !stays(c) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(printable("\u{1b}]0;title\u{7}.mbps"), "\\u001b]0;title\\u0007.mbps");
        assert_eq!(printable("\u{9b}2J\r\n\u{202e}"), "\\u009b2J\\u000d\\u000a\\u202e");
        assert_eq!(printable_lines("a\n\tb\r"), "a\n\tb\\u000d");
        assert!(matches!(printable("Zürich 中 🎞"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn nothing_is_left_to_obey(text in any::<String>()) {
            prop_assert!(!printable(&text).chars().any(char::is_control));
        }
    }
}

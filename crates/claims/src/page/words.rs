//! The words of a command as a shell would have them: quotes, `$NAME`, braces. Nothing else of a shell is needed, and nothing is run.

use cellcc_experiment::expand_braces;

/// The words of a command. `variable` gives the values of `$NAME`.
///
/// # Errors
/// A quote without its end, a variable without a value, braces without their partner.
pub fn words(command: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut rest = command.trim_start();
    while !rest.is_empty() {
        let (word, after) = word(rest, &variable)?;
        found.extend(word);
        rest = after.trim_start();
    }
    Ok(found)
}

/// The signs that braces are while they are quoted: no text of a command has them.
const QUOTED: [(char, char); 2] = [('{', '\u{E000}'), ('}', '\u{E001}')];

fn word<'a>(
    text: &'a str,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<(Vec<String>, &'a str), String> {
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let mut signs = text.char_indices().peekable();
    let mut end = text.len();
    while let Some((at, sign)) = signs.next() {
        match (sign, quote) {
            ('\'' | '"', None) => quote = Some(sign),
            (_, Some(open)) if sign == open => quote = None,
            ('$', None | Some('"')) => {
                let name: String =
                    text[at + 1..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                let value = variable(&name).ok_or_else(|| format!("`${name}` has no value"))?;
                word.push_str(&value);
                for _ in name.chars() {
                    signs.next();
                }
            }
            (sign, None) if sign.is_whitespace() => {
                end = at;
                break;
            }
            (sign, Some(_)) => {
                let quoted = QUOTED.iter().find(|(plain, _)| *plain == sign);
                word.push(quoted.map_or(sign, |(_, quoted)| *quoted));
            }
            (sign, None) => word.push(sign),
        }
    }
    if let Some(open) = quote {
        return Err(format!("a quote {open} has no end"));
    }
    let plain = |word: String| {
        QUOTED.iter().fold(word, |word, (plain, quoted)| word.replace(*quoted, &plain.to_string()))
    };
    let words = if word.contains('{') {
        expand_braces(&numbered(&word)).map_err(|error| error.to_string())?
    } else {
        vec![word]
    };
    Ok((words.into_iter().map(plain).collect(), &text[end..]))
}

/// `{01..03}` as `{01,02,03}`.
fn numbered(text: &str) -> String {
    const MOST: usize = 1_000;
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, then) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        out.push('{');
        let ends = inside
            .split_once("..")
            .and_then(|(from, to)| Some((from, from.parse::<usize>().ok()?, to.parse::<usize>().ok()?)));
        match ends {
            Some((text, from, to)) if from <= to && to - from < MOST => {
                let width = if text.starts_with('0') { text.len() } else { 1 };
                let all: Vec<String> = (from..=to).map(|number| format!("{number:0width$}")).collect();
                out.push_str(&all.join(","));
            }
            _ => out.push_str(inside),
        }
        if after.contains('}') {
            out.push('}');
        }
        rest = then;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str) -> Result<Vec<String>, String> {
        words(command, |name| (name == "T").then(|| "/t".to_owned()))
    }

    #[test]
    fn quotes_variables_and_braces_are_those_of_a_shell() {
        assert_eq!(of("a 'b c' \"$T/x y\"").unwrap(), ["a", "b c", "/t/x y"]);
        assert_eq!(of("\"$T\"/l/{A,B-C}*.down").unwrap(), ["/t/l/A*.down", "/t/l/B-C*.down"]);
        assert_eq!(of("0{08..10}-*").unwrap(), ["008-*", "009-*", "010-*"]);
        assert_eq!(of("'r={2,4}'").unwrap(), ["r={2,4}"], "braces in quotes are the command's own");
        assert_eq!(of("'r='{2,4}").unwrap(), ["r=2", "r=4"]);
    }

    #[test]
    fn what_has_no_end_or_no_value_is_named() {
        assert!(of("'a").unwrap_err().contains("no end"));
        assert!(of("$X").unwrap_err().contains("`$X`"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = of(&text);
        }
    }
}

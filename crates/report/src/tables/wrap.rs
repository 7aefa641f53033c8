//! Texts on several lines; names of schemes are cut only where a reader would cut them.

/// A name in lines of at most `width` characters, where its parts are not longer: a part ends behind a comma, a space, a
/// `+` or an opening parenthesis, `reminis(` `dtt=40ms,` `aimd=cubic)`.
pub(crate) fn wrap_name(name: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for part in parts(name) {
        match lines.last_mut() {
            Some(line) if (line.clone() + part).trim_end().chars().count() <= width => line.push_str(part),
            _ => lines.push(part.into()),
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// A text in lines of at most `width` characters, where its words are not longer.
pub(crate) fn wrap_text(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines.join("\n")
}

/// Characters of the longest part of a name.
pub(crate) fn longest_part(name: &str) -> usize {
    parts(name).map(|part| part.trim_end().chars().count()).max().unwrap_or(0)
}

/// A part that must not be cut.
pub(crate) fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split_inclusive([',', ' ', '+', '(']).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_between_its_parts_and_never_within_one() {
        let name = "reminis(dtt=40ms, nde=deterministic, aimd=cubic)";
        assert_eq!(wrap_name(name, 20), "reminis(dtt=40ms,\nnde=deterministic,\naimd=cubic)");
        assert_eq!(wrap_name(name, 100), name);
        assert_eq!(wrap_name("2*cubic+reminis", 8), "2*cubic+\nreminis");
        assert_eq!(wrap_text("one two three", 8), "one two\nthree");
        assert_eq!(longest_part(name), "nde=deterministic,".len());
    }
}

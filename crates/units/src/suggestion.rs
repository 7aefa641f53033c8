//! What was probably meant.

/// What there is instead of `given`: `; there are A, B`. Where one of the `known`, separated by commas, is like it, that one comes
/// first: `; did you mean A? There are A, B`. `there` is what introduces the list.
pub fn instead(given: &str, there: &str, known: &str) -> String {
    match closest(given, known.split(", ")) {
        Some(name) => {
            let (first, rest) = there.split_at(1);
            format!("; did you mean `{name}`? {}{rest} {known}", first.to_uppercase())
        }
        None => format!("; {there} {known}"),
    }
}

/// The one of these names that a reader would take `given` for, if there is such a one.
fn closest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // One letter in three is another, or two stand in each other's place: then words look alike to a reader.
    const LETTERS_AN_ERROR: usize = 3;
    let errors = |name: &str| strsim::osa_distance(given, name);
    // Of two that are as close, the one of the same length: `bbr3` is rather `bbr2` than `bbr`.
    let closest = known
        .into_iter()
        .min_by_key(|name| (errors(name), name.chars().count().abs_diff(given.chars().count())));
    closest.filter(|name| errors(name) * LETTERS_AN_ERROR <= given.len().max(name.len()))
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_name_with_one_letter_wrong_is_meant_before_one_with_a_letter_more() {
        assert_eq!(closest("bbr3", ["bbr", "bbr2"]), Some("bbr2"));
        assert_eq!(closest("lte-drve", ["5g-mmwave-drive", "lte-drive", "lte-static"]), Some("lte-drive"));
        assert_eq!(closest("xyz", ["bbr", "bbr2"]), None);
        assert_eq!(closest("xyz", []), None);
    }
}

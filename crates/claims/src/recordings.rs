//! The recordings that data sets name: `claims/recordings.toml`, names and hashes.

use cellcc_experiment::expand_braces;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The recordings that data sets name, with their hashes. The repository holds none of the recordings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(transparent)]
pub struct Recordings(BTreeMap<String, String>);

impl Recordings {
    /// SHA-256 of the recording of this name.
    pub fn sha256(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The names that a pattern stands for, in order: a folder, or a name with `*`, `?` and `{alternatives}`. Options after a
    /// comma (`,offset=34s`) are kept.
    ///
    /// # Errors
    /// A pattern that no recording has.
    pub fn named(&self, pattern: &str) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        for alternative in expand_braces(pattern).map_err(|error| error.to_string())? {
            let (name, options) = match alternative.split_once(',') {
                Some((name, options)) => (name, format!(",{options}")),
                None => (alternative.as_str(), String::new()),
            };
            let glob = glob::Pattern::new(name).map_err(|error| format!("`{pattern}`: {error}"))?;
            let folder = format!("{}/", name.trim_end_matches('/'));
            let of = self.0.keys().filter(|known| glob.matches(known) || known.starts_with(&folder));
            let before = found.len();
            found.extend(of.map(|known| format!("{known}{options}")));
            if found.len() == before {
                return Err(format!("`{alternative}` is no recording of claims/recordings.toml"));
            }
        }
        Ok(found)
    }

    /// The recordings in the text of a link, which may join several of them.
    pub fn within<'a>(&'a self, link: &'a str) -> impl Iterator<Item = &'a str> {
        pieces(link).filter_map(|piece| {
            let name = piece.split(',').next().unwrap_or(piece);
            self.0.get_key_value(name).map(|(name, _)| name.as_str())
        })
    }

    /// The text of a link with its recordings below a `folder`.
    pub fn below(&self, folder: &str, link: &str) -> String {
        let found: Vec<&str> = self.within(link).collect();
        if found.is_empty() {
            return link.to_owned();
        }
        let piece = |piece: &str| {
            let name = piece.split(',').next().unwrap_or(piece);
            if found.contains(&name) {
                format!("{}/{piece}", folder.trim_end_matches('/'))
            } else {
                piece.to_owned()
            }
        };
        match link.strip_prefix("join(").and_then(|rest| rest.strip_suffix(')')) {
            Some(inside) => format!("join({})", inside.split(';').map(piece).collect::<Vec<_>>().join(";")),
            None => piece(link),
        }
    }
}

/// The pieces of a joined link; one that is not joined is its only piece.
fn pieces(link: &str) -> impl Iterator<Item = &str> {
    let inside = link.strip_prefix("join(").and_then(|rest| rest.strip_suffix(')'));
    inside.unwrap_or(link).split(';')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recordings() -> Recordings {
        let names = ["5g/001.mbps", "5g/002.mbps", "lte/A.down", "lte/B.down", "lte/B.up"];
        Recordings(names.iter().map(|name| (name.to_string(), "hash".to_string())).collect())
    }

    #[test]
    fn a_pattern_is_a_folder_or_names() {
        let named = |pattern: &str| recordings().named(pattern);
        assert_eq!(named("5g").unwrap(), ["5g/001.mbps", "5g/002.mbps"]);
        assert_eq!(named("lte/{A,B}.down").unwrap(), ["lte/A.down", "lte/B.down"]);
        assert_eq!(named("5g/001.mbps,offset=3s").unwrap(), ["5g/001.mbps,offset=3s"]);
        assert!(named("lte/C*").unwrap_err().contains("`lte/C*` is no recording"));
    }

    #[test]
    fn a_link_may_join_several_recordings() {
        let link = "join(5g/001.mbps,offset=0s;gap=100ms;lte/A.down)";
        assert_eq!(recordings().within(link).collect::<Vec<_>>(), ["5g/001.mbps", "lte/A.down"]);
        assert_eq!(recordings().below("/t", link), "join(/t/5g/001.mbps,offset=0s;gap=100ms;/t/lte/A.down)");
        assert_eq!(recordings().below("/t", "rate=3Mbit/s"), "rate=3Mbit/s");
    }
}

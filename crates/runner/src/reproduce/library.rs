//! The files of a repository that have the claims, and those that keep their verdicts.

use super::{Judgement, WriteError, write};
use crate::RequestError;
use cellcc_claims::{Claim, Claims, Figure, Scale, State, markdown, short_markdown};
use cellcc_units::{Bytes, input};
use std::path::{Path, PathBuf};

/// The files of claims, in the order of pages.
const FILES: [&str; 4] =
    ["claims/reminis.toml", "claims/rbbr.toml", "claims/natcp.toml", "claims/verus.toml"];
const RECORDINGS: &str = "claims/recordings.toml";
const STATE: &str = "claims/state.tsv";
const PAGE: &str = "docs/fidelity/claims.md";
const README: &str = "README.md";
/// What the scorecard of README stands between.
const MARKERS: (&str, &str) = ("<!-- scorecard -->\n", "<!-- /scorecard -->");
/// Far more than any of them has.
const MOST_BYTES: Bytes = Bytes::new(16_000_000);

/// The claims of a repository, and the verdicts of before.
#[derive(Debug)]
pub struct Library {
    /// The folder of the repository.
    pub(super) root: PathBuf,
    /// What the papers say.
    pub claims: Claims,
    /// The verdicts of before.
    pub state: State,
}

impl Library {
    /// That of the repository in this folder.
    ///
    /// # Errors
    /// A folder that is no clone of the repository, and a file of claims that has another form, with the line.
    pub fn read(root: &Path) -> Result<Self, RequestError> {
        let text = |name: &str| text(&root.join(name));
        let texts = FILES.map(text);
        let mut files = Vec::new();
        for (name, text) in FILES.into_iter().zip(texts) {
            files.push((name, text?));
        }
        let recordings = text(RECORDINGS)?;
        let given = files.iter().map(|(name, text)| (*name, text.as_str()));
        let claims = Claims::read(given, (RECORDINGS, &recordings)).map_err(RequestError::new)?;
        let state = match root.join(STATE).exists() {
            true => {
                State::parse(&text(STATE)?).map_err(|error| RequestError::new(format!("{STATE}:{error}")))?
            }
            false => State::default(),
        };
        Ok(Self { root: root.into(), claims, state })
    }

    /// The claims and figures of these names, in the order of the files; of no name, all.
    pub(super) fn chosen(&self, names: &[String]) -> Result<(Vec<&Claim>, Vec<&Figure>), RequestError> {
        let Claims { claims, figures, .. } = &self.claims;
        if names.is_empty() {
            return Ok((claims.iter().collect(), figures.iter().collect()));
        }
        let mut ids = Vec::new();
        for name in names {
            let (claims, figures) = self.claims.named(name).map_err(RequestError::new)?;
            ids.extend(claims.iter().map(|claim| &claim.id).chain(figures.iter().map(|figure| &figure.id)));
        }
        let claims = claims.iter().filter(|claim| ids.contains(&&claim.id)).collect();
        Ok((claims, figures.iter().filter(|figure| ids.contains(&&figure.id)).collect()))
    }

    /// Takes the verdicts down, in the state, on the page of claims and in README.
    ///
    /// # Errors
    /// A file that cannot be written, and a README without a place for the scorecard.
    pub fn write(&self, judgements: &[Judgement], scale: Scale, version: &str) -> Result<(), WriteError> {
        let mut state = self.state.clone();
        for judgement in judgements.iter().filter(|judgement| !judgement.is_left_out) {
            state.set(&judgement.judged, scale, version);
        }
        let ids: Vec<&str> = self.claims.claims.iter().map(|claim| claim.id.as_str()).collect();
        state.keep(&ids);
        let readme = with_scorecard(&text(&self.root.join(README))?, &short_markdown(&self.claims, &state))?;
        let page = markdown(&self.claims, &state);
        for (name, content) in [(STATE, state.text()), (PAGE, page), (README, readme)] {
            write(&self.root.join(name), &content)?;
        }
        Ok(())
    }
}

/// README with this scorecard.
fn with_scorecard(readme: &str, scorecard: &str) -> Result<String, WriteError> {
    let (start, end) = MARKERS;
    let between = readme.split_once(start).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let Some((before, after)) = between else {
        return Err(WriteError::NoPlace(format!("{README} has no `{}` with `{end}` after it", start.trim())));
    };
    Ok(format!("{before}{start}{scorecard}{end}{after}"))
}

pub(super) fn text(path: &Path) -> Result<String, RequestError> {
    input::read_text(path, MOST_BYTES).map_err(|error| {
        RequestError::new(format!(
            "{}: {error}; run `cellcc reproduce` in a clone of the repository",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// So that a claim's new name or note is on the page without its runs. This writes both where `CELLCC_WRITE_DOCS` is set.
    #[test]
    fn the_page_of_claims_and_readmes_scorecard_are_those_of_the_files() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let library = Library::read(root).unwrap();
        let readme = fs::read_to_string(root.join(README)).unwrap();
        let scorecard = short_markdown(&library.claims, &library.state);
        let readme = with_scorecard(&readme, &scorecard).unwrap();
        for (name, made) in [(PAGE, markdown(&library.claims, &library.state)), (README, readme)] {
            if std::env::var_os("CELLCC_WRITE_DOCS").is_some() {
                fs::write(root.join(name), &made).unwrap();
            }
            let is_made = fs::read_to_string(root.join(name)).is_ok_and(|text| text == made);
            assert!(is_made, "set CELLCC_WRITE_DOCS=1 to write {name}");
        }
    }

    #[test]
    fn no_two_claims_of_a_paper_say_the_same_of_the_same_place() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let library = Library::read(root).unwrap();
        let mut seen = std::collections::BTreeMap::new();
        for claim in &library.claims.claims {
            let before = seen.insert((&claim.group, &claim.source, &claim.says), &claim.id);
            assert_eq!(before, None, "{} says the same: tell them apart", claim.id);
        }
    }
}

//! The files of a repository that have the claims, and those that keep their verdicts.

use super::{Judgement, WriteError, write};
use crate::RequestError;
use cellcc_claims::{Claim, Claims, Figure, Scale, State, markdown, reasons_markdown, short_markdown};
use cellcc_units::{Bytes, input};
use std::path::{Path, PathBuf};

/// The files of claims, in the order of pages.
const FILES: [&str; 4] =
    ["claims/reminis.toml", "claims/rbbr.toml", "claims/natcp.toml", "claims/verus.toml"];
const RECORDINGS: &str = "claims/recordings.toml";
const STATE: &str = "claims/state.tsv";
const PAGE: &str = "docs/fidelity/claims.md";
const README: &str = "README.md";
/// The marks around the scorecard in README, and around the reasons on the page of a paper.
const SCORECARD: (&str, &str) = ("<!-- scorecard -->\n", "<!-- /scorecard -->");
const REASONS: (&str, &str) = ("<!-- reasons -->\n", "<!-- /reasons -->");
/// Far more than any of them has.
const MOST_BYTES: Bytes = Bytes::new(16_000_000);

/// The claims of a repository, and the verdicts of before.
#[derive(Debug)]
pub struct Library {
    /// The folder of the repository.
    pub(super) root: PathBuf,
    /// The claims of the papers.
    pub claims: Claims,
    /// The verdicts of before.
    pub state: State,
}

impl Library {
    /// Reads the library of the repository in this folder.
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
        write(&self.root.join(STATE), &state.text())?;
        for (name, content) in self.pages(&state)? {
            write(&self.root.join(name), &content)?;
        }
        Ok(())
    }

    /// The pages that this state and the claims make, in whole or in part: their names and texts.
    fn pages(&self, state: &State) -> Result<Vec<(String, String)>, WriteError> {
        let scorecard = short_markdown(&self.claims, state);
        let mut pages = vec![(PAGE.to_owned(), markdown(&self.claims, state))];
        pages.push((README.to_owned(), self.with_part(README, SCORECARD, &scorecard)?));
        for name in FILES.map(|file| file.replace("claims/", "docs/fidelity/").replace(".toml", ".md")) {
            if self.root.join(&name).exists() {
                let group = name.rsplit('/').next().unwrap_or_default().trim_end_matches(".md");
                let reasons = reasons_markdown(&self.claims, group);
                let page = self.with_part(&name, REASONS, &reasons)?;
                pages.push((name, page));
            }
        }
        Ok(pages)
    }

    /// A page with this between its markers.
    fn with_part(&self, name: &str, (start, end): (&str, &str), part: &str) -> Result<String, WriteError> {
        let page = text(&self.root.join(name))?;
        let between =
            page.split_once(start).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
        let Some((before, after)) = between else {
            return Err(WriteError::NoPlace(format!(
                "{name} has no `{}` with `{end}` after it",
                start.trim()
            )));
        };
        Ok(format!("{before}{start}{part}{end}{after}"))
    }
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
    use cellcc_claims::Verdict;
    use std::collections::BTreeSet;
    use std::fs;

    /// So that a claim's new name or note is on the pages without its runs. This writes them where `CELLCC_WRITE_DOCS` is set.
    #[test]
    fn the_pages_of_claims_and_readmes_scorecard_are_those_of_the_files() {
        let library = repository();
        for (name, made) in library.pages(&library.state).unwrap() {
            let file = library.root.join(&name);
            if std::env::var_os("CELLCC_WRITE_DOCS").is_some() {
                fs::write(&file, &made).unwrap();
            }
            let is_made = fs::read_to_string(file).is_ok_and(|text| text == made);
            assert!(is_made, "set CELLCC_WRITE_DOCS=1 to write {name}");
        }
    }

    fn repository() -> Library {
        Library::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))).unwrap()
    }

    /// Fourteen groups of claims once repeated their explanation word for word, and pages contradicted others.
    #[test]
    fn no_sentence_that_explains_a_miss_stands_twice() {
        let library = repository();
        let Claims { claims, reasons, .. } = &library.claims;
        let mut texts: Vec<(&str, String)> = Vec::new();
        texts.extend(
            reasons.iter().map(|reason| (reason.id.as_str(), format!("{}. {}", reason.title, reason.text))),
        );
        texts.extend(claims.iter().map(|claim| (claim.id.as_str(), claim.note.clone())));
        let pages = library.pages(&library.state).unwrap();
        for (name, page) in pages.iter().filter(|(name, _)| name != PAGE && name != README) {
            let (before, rest) = page.split_once(REASONS.0).unwrap();
            texts.push((name, format!("{before} {}", rest.split_once(REASONS.1).unwrap().1)));
        }
        assert_eq!(repeated(&texts), None, "one reason can name several claims");
    }

    /// The place and the first sentence of more than five words that an earlier text also has.
    fn repeated(texts: &[(&str, String)]) -> Option<(String, String)> {
        let mut seen = BTreeSet::new();
        for (place, text) in texts {
            let text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
            let sentences = text.split(". ").map(|sentence| sentence.trim_end_matches(['.', ')']));
            for sentence in sentences.filter(|sentence| sentence.split(' ').count() > 5) {
                if !seen.insert(sentence.to_owned()) {
                    return Some(((*place).to_owned(), sentence.to_owned()));
                }
            }
        }
        None
    }

    #[test]
    fn a_sentence_in_a_reason_and_on_a_page_is_a_repetition_whatever_its_line_breaks() {
        let reason = ("copa-grain", "Copa needs a grain. It wants two packets of queue there.".to_owned());
        let page = |text: &str| ("docs/fidelity/reminis.md", text.to_owned());
        let again = page("The cause is known. It wants two packets\nof queue there.");
        let found = repeated(&[reason.clone(), again]).unwrap();
        assert_eq!(found, (page("").0.into(), "it wants two packets of queue there".into()));
        assert_eq!(repeated(&[reason, page("It wants three packets of queue there.")]), None);
    }

    #[test]
    fn every_claim_that_is_missed_or_not_judged_has_a_reason() {
        let library = repository();
        for claim in &library.claims.claims {
            let verdict = library.state.verdict(&claim.id, Scale::Paper);
            let is_open = matches!(verdict, Some(Verdict::Miss | Verdict::Untested));
            assert!(!is_open || library.claims.reasons(&claim.id).next().is_some(), "{} has none", claim.id);
        }
    }

    #[test]
    fn no_two_claims_of_a_paper_say_the_same_of_the_same_place() {
        let library = repository();
        let mut seen = std::collections::BTreeMap::new();
        for claim in &library.claims.claims {
            let before = seen.insert((&claim.group, &claim.source, &claim.says), &claim.id);
            assert_eq!(before, None, "{} says the same: tell them apart", claim.id);
        }
    }
}

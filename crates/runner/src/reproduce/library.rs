//! The files of the repository that the command reads and writes.

use super::Args;
use crate::exit::{Exit, write_file};
use cellcc_claims::{Claim, Claims, Figure, Judged, Scale, State, markdown, short_markdown};
use cellcc_units::{Bytes, input};
use std::path::Path;

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

pub(super) struct Library {
    pub(super) claims: Claims,
    pub(super) state: State,
}

impl Library {
    pub(super) fn read() -> Result<Self, Exit> {
        Self::below(Path::new(""))
    }

    /// That of the repository in this folder.
    pub(super) fn below(root: &Path) -> Result<Self, Exit> {
        let text = |name: &str| text(&root.join(name));
        let texts = FILES.map(text);
        let mut files = Vec::new();
        for (name, text) in FILES.into_iter().zip(texts) {
            files.push((name, text?));
        }
        let recordings = text(RECORDINGS)?;
        let given = files.iter().map(|(name, text)| (*name, text.as_str()));
        let claims = Claims::read(given, (RECORDINGS, &recordings)).map_err(Exit::input)?;
        let state = match root.join(STATE).exists() {
            true => State::parse(&text(STATE)?).map_err(|error| Exit::input(format!("{STATE}:{error}")))?,
            false => State::default(),
        };
        Ok(Self { claims, state })
    }

    /// The claims and figures that are asked for, in the order of the files.
    pub(super) fn chosen(&self, args: &Args) -> Result<(Vec<&Claim>, Vec<&Figure>), Exit> {
        let Claims { claims, figures, .. } = &self.claims;
        if args.claims.is_empty() {
            let only_pages = args.docs.as_ref().is_some_and(|pages| !pages.is_empty());
            let all = || (claims.iter().collect(), figures.iter().collect());
            return Ok(if only_pages { Default::default() } else { all() });
        }
        let mut ids = Vec::new();
        for name in &args.claims {
            let (claims, figures) = self.claims.named(name).map_err(Exit::input)?;
            ids.extend(claims.iter().map(|claim| &claim.id).chain(figures.iter().map(|figure| &figure.id)));
        }
        let claims = claims.iter().filter(|claim| ids.contains(&&claim.id)).collect();
        Ok((claims, figures.iter().filter(|figure| ids.contains(&&figure.id)).collect()))
    }

    /// Takes the verdicts down.
    pub(super) fn write(
        &mut self,
        judged: &[(Judged, bool)],
        scale: Scale,
        version: &str,
    ) -> Result<(), Exit> {
        for (judged, is_left_out) in judged {
            if !is_left_out {
                self.state.set(judged, scale, version);
            }
        }
        let ids: Vec<&str> = self.claims.claims.iter().map(|claim| claim.id.as_str()).collect();
        self.state.keep(&ids);
        write_file(Path::new(STATE), self.state.text())?;
        write_file(Path::new(PAGE), markdown(&self.claims, &self.state))?;
        write_file(Path::new(README), self.with_scorecard(&text(Path::new(README))?)?)
    }

    /// README with the scorecard of the state.
    fn with_scorecard(&self, readme: &str) -> Result<String, Exit> {
        let (start, end) = MARKERS;
        let between =
            readme.split_once(start).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
        let Some((before, after)) = between else {
            return Err(Exit::failed(format!("{README} has no `{}` with `{end}` after it", start.trim())));
        };
        Ok(format!("{before}{start}{}{end}{after}", short_markdown(&self.claims, &self.state)))
    }
}

pub(super) fn text(path: &Path) -> Result<String, Exit> {
    input::read_text(path, MOST_BYTES).map_err(|error| {
        Exit::input(format!(
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
        let library = Library::below(root).map_err(|error| error.text()).unwrap();
        let readme = fs::read_to_string(root.join(README)).unwrap();
        let readme = library.with_scorecard(&readme).map_err(|error| error.text()).unwrap();
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
        let library = Library::below(root).map_err(|error| error.text()).unwrap();
        let mut seen = std::collections::BTreeMap::new();
        for claim in &library.claims.claims {
            let before = seen.insert((&claim.group, &claim.source, &claim.says), &claim.id);
            assert_eq!(before, None, "{} says the same: tell them apart", claim.id);
        }
    }
}

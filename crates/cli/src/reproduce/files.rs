//! The files of the repository that the command reads and writes.

use super::Args;
use crate::exit::Exit;
use cellcc_claims::{Claim, Claims, Figure, Judged, Scale, State, markdown, short_markdown};
use cellcc_units::{Bytes, input};
use std::fs;
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
        write(Path::new(STATE), &self.state.text())?;
        write(Path::new(PAGE), &markdown(&self.claims, &self.state))?;
        let readme = text(Path::new(README))?;
        let (start, end) = MARKERS;
        let between =
            readme.split_once(start).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
        let Some((before, after)) = between else {
            return Err(Exit::failed(format!("{README} has no `{}` with `{end}` after it", start.trim())));
        };
        write(
            Path::new(README),
            &format!("{before}{start}{}{end}{after}", short_markdown(&self.claims, &self.state)),
        )
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

pub(super) fn write(path: &Path, text: &str) -> Result<(), Exit> {
    fs::write(path, text).map_err(|error| Exit::failed(format!("cannot write {}: {error}", path.display())))
}

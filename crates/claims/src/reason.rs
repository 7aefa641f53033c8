//! Reasons: why claims are missed or cannot be judged. Each is written once, for all the claims that it explains.

use crate::claim_file::{ClaimError, at};
use crate::{Claim, Claims};
use serde::Deserialize;
use std::fmt;

/// The most words of a title.
const TITLE_WORDS: usize = 12;

/// Reason why claims are missed, or cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Its name, to which pages link: `copa-grain`.
    pub id: String,
    /// The cause, in at most twelve words.
    pub title: String,
    /// The ids of the claims that it explains.
    pub claims: Vec<String>,
    /// The cause and the experiment that isolates it, at length.
    pub text: String,
    /// The command of that experiment; empty: the text has it, or there is none.
    #[serde(default)]
    pub command: String,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.title, self.text)?;
        if self.command.is_empty() { Ok(()) } else { write!(f, " Command: `{}`", self.command) }
    }
}

impl Claims {
    /// The reasons of a claim.
    pub fn reasons<'a>(&'a self, claim: &'a str) -> impl Iterator<Item = &'a Reason> {
        self.reasons.iter().filter(move |reason| reason.claims.iter().any(|id| id == claim))
    }

    /// The remark on a claim: its own note, then its reasons in full.
    pub fn remark(&self, claim: &Claim) -> String {
        let reasons = self.reasons(&claim.id).map(Reason::to_string);
        let own = (!claim.note.is_empty()).then(|| claim.note.clone());
        own.into_iter().chain(reasons).collect::<Vec<_>>().join(" ")
    }

    /// Adds the reason that begins at this line.
    pub(crate) fn add_reason(&mut self, file: &str, line: usize, reason: Reason) -> Result<(), ClaimError> {
        let wrong = |problem: &str| at(file, line, format!("reason `{}`: {problem}", reason.id));
        if self.reasons.iter().any(|other| other.id == reason.id) {
            return Err(wrong("it is there already"));
        }
        if reason.title.split_whitespace().count() > TITLE_WORDS {
            return Err(wrong("its title has more than twelve words"));
        }
        let unknown = reason.claims.iter().find(|id| !self.claims.iter().any(|claim| claim.id == **id));
        if let Some(id) = unknown {
            return Err(wrong(&format!("`{id}` is no claim")));
        }
        if reason.claims.is_empty() {
            return Err(wrong("it explains no claim"));
        }
        self.reasons.push(reason);
        Ok(())
    }
}

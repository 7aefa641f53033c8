//! What came out of a suite.

use crate::junit;
use std::fmt;
use std::io;
use std::path::Path;

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All conditions hold.
    Pass,
    /// Conditions do not hold: their values and what was wanted.
    Fail(String),
    /// There is nothing to judge: a panic, a connection that ended, a run that never ends, a case that does not exist.
    Error(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "passed",
            Self::Fail(why) | Self::Error(why) => why,
        })
    }
}

/// A case and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// `bbr/17`.
    pub case: String,
    /// One line: what the case is about.
    pub title: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// What came out of a suite. Shown, it has a line a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub(crate) name: String,
    pub(crate) verdicts: Vec<Verdict>,
}

impl Report {
    /// True where all conditions of all cases hold.
    pub fn passed(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.outcome == Outcome::Pass)
    }

    /// All cases, in the order of the suite.
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// How this case ended; `None` if it was not run.
    pub fn outcome(&self, case: &str) -> Option<&Outcome> {
        self.verdicts.iter().find(|verdict| verdict.case == case).map(|verdict| &verdict.outcome)
    }

    /// Writes it in the form that CI systems read, a test case a case.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub fn write_junit(&self, path: impl AsRef<Path>) -> io::Result<()> {
        std::fs::write(path, junit::text(self))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Verdict { case, title, outcome } in &self.verdicts {
            let (word, why) = match outcome {
                Outcome::Pass => ("pass ", title),
                Outcome::Fail(why) => ("FAIL ", why),
                Outcome::Error(why) => ("ERROR", why),
            };
            writeln!(f, "{word} {case}: {why}")?;
            if *outcome != Outcome::Pass {
                writeln!(
                    f,
                    "      {title}; alone: Suite::network().only(\"{case}\").run({:?}, ...)",
                    self.name
                )?;
            }
        }
        Ok(())
    }
}

//! The results of a suite.

use cellcc_claims::cases::{Finding, Ruling, junit, ruling};
use cellcc_units::output;
use std::fmt;
use std::io;
use std::path::Path;

/// The results of a suite. Shown, it has a line a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub(crate) name: String,
    pub(crate) findings: Vec<Finding>,
}

impl Report {
    /// True where nothing fails. A case that cannot be judged counts against no controller.
    pub fn passed(&self) -> bool {
        !self.findings.iter().any(|finding| finding.ruling.is_bad())
    }

    /// All conditions of all cases, in the order of the suite.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The verdict of a case, `bbr/17`: the worst of its conditions; `None` if it was not run.
    pub fn ruling(&self, case: &str) -> Option<Ruling> {
        let mut findings = self.findings.iter().filter(|finding| finding.case == case).peekable();
        findings.peek().is_some().then(|| ruling(findings))
    }

    /// Writes it in the form that CI systems read, a test case a case.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub fn write_junit(&self, path: impl AsRef<Path>) -> io::Result<()> {
        output::write(path.as_ref(), junit(&self.findings, &self.name, |finding| self.command(finding)))
    }

    /// How to run the case of a finding alone.
    fn command(&self, finding: &Finding) -> String {
        format!("Suite::network().only({:?}).run({:?}, ...)", finding.case, self.name)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
            if finding.ruling.is_bad() {
                writeln!(f, "      {}; alone: {}", finding.says, self.command(finding))?;
            }
        }
        Ok(())
    }
}

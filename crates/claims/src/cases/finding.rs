//! Findings: one condition of one run, the verdict of several, and JUnit's XML.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// The verdict of a condition, a run or a case, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// Nothing could be judged.
    Skip,
    /// It holds.
    Pass,
    /// It does not hold.
    Fail,
    /// The run panicked, stalled or failed.
    Error,
}

/// One condition of one run. Where the run as a whole has a verdict, `condition` is empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The case's id: `bbr/15`.
    pub case: String,
    /// The requirement in words.
    pub says: String,
    /// The driver that ran it.
    pub driver: String,
    /// The varied conditions of the run.
    pub variation: String,
    /// Its seed; none where nothing was run.
    pub seed: Option<u64>,
    /// As the case has it.
    pub condition: String,
    /// Source of the condition: `draft 10.15`; `ours`.
    pub source: String,
    /// The verdict.
    pub ruling: Ruling,
    /// The left side of the condition; null where it has no value, or one too large for a number of JSON.
    pub value: Option<f64>,
    /// The right side.
    pub bound: Option<f64>,
    /// Reason why there is no verdict or no value.
    pub why: Option<String>,
    /// The id of the run: its content hash.
    pub record: Option<String>,
}

/// The verdict of several conditions: the worst.
pub fn ruling<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Ruling {
    findings.into_iter().map(|finding| finding.ruling).max().unwrap_or(Ruling::Skip)
}

impl Ruling {
    /// In capitals, as lines begin with it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Skip => "SKIP",
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Error => "ERROR",
        }
    }

    /// True if it speaks against the subject.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Fail | Self::Error)
    }
}

impl Finding {
    /// Finding on a whole case, with this reason and no run.
    pub fn of_case(case: &str, says: &str, driver: &str, ruling: Ruling, why: &str) -> Self {
        Self {
            case: case.into(),
            says: says.into(),
            driver: driver.into(),
            variation: String::new(),
            seed: None,
            condition: String::new(),
            source: String::new(),
            ruling,
            value: None,
            bound: None,
            why: Some(why.into()),
            record: None,
        }
    }

    /// The key of its run among those of one subject.
    pub fn run(&self) -> (&str, &str, &str, Option<u64>) {
        (&self.case, &self.driver, &self.variation, self.seed)
    }
}

/// `FAIL bbr/15 utilisation over 12s..20s >= 0.9: 0.71 (draft 10.15) [sim, seed 1]`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:5} {}", self.ruling.word(), self.case)?;
        if !self.condition.is_empty() {
            write!(f, " {}", self.condition)?;
        }
        match (self.value, &self.why) {
            (_, Some(why)) => write!(f, ": {why}")?,
            (Some(value), None) => write!(f, ": {}", short(value))?,
            (None, None) => {}
        }
        if !self.source.is_empty() {
            write!(f, " ({})", self.source)?;
        }
        write!(f, " [{}", self.driver)?;
        if !self.variation.is_empty() {
            write!(f, ", {}", self.variation)?;
        }
        self.seed.map_or(Ok(()), |seed| write!(f, ", seed {seed}"))?;
        f.write_str("]")
    }
}

/// A number with four digits.
fn short(value: f64) -> String {
    if value.is_infinite() {
        return "never".into();
    }
    let digits =
        if value == 0.0 { 0 } else { (3 - libm::floor(libm::log10(value.abs())) as i32).clamp(0, 6) };
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Merges runs in real time: for each condition one finding with the most frequent verdict, and the number of runs that agree.
pub(super) fn majority(findings: Vec<Finding>) -> Vec<Finding> {
    let mut groups: Vec<Vec<Finding>> = Vec::new();
    let mut places = BTreeMap::new();
    for finding in findings {
        let Finding { case, driver, variation, condition, .. } = &finding;
        let key = (case.clone(), driver.clone(), variation.clone(), condition.clone());
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(finding);
    }
    let of_group = |group: Vec<Finding>| {
        let count = |ruling: Ruling| group.iter().filter(|one| one.ruling == ruling).count();
        // Where no two agree, the worst.
        let ruling = group.iter().map(|one| one.ruling).max_by_key(|ruling| (count(*ruling), *ruling))?;
        let (agreeing, all) = (count(ruling), group.len());
        let mut one = group.into_iter().find(|one| one.ruling == ruling)?;
        if all > 1 && agreeing < all {
            one.source = format!("{}, {agreeing} of {all} runs", one.source);
        }
        Some(one)
    };
    groups.into_iter().filter_map(of_group).collect()
}

/// JUnit's XML: a suite is a file of cases, a test case is a run of a case. `command` says how to repeat a run.
pub fn junit(findings: &[Finding], subject: &str, command: impl Fn(&Finding) -> String) -> String {
    let mut suites: Vec<(&str, Vec<Vec<&Finding>>)> = Vec::new();
    for finding in findings {
        let suite = finding.case.split('/').next().unwrap_or_default();
        if suites.last().is_none_or(|(name, _)| *name != suite) {
            suites.push((suite, Vec::new()));
        }
        let Some((_, tests)) = suites.last_mut() else { continue };
        match tests.last_mut().filter(|test| test.iter().all(|other| other.run() == finding.run())) {
            Some(test) => test.push(finding),
            None => tests.push(vec![finding]),
        }
    }
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (suite, tests) in suites {
        let count = |wanted| tests.iter().filter(|test| ruling(test.iter().copied()) == wanted).count();
        let _ = writeln!(
            text,
            r#"  <testsuite name="{}" tests="{}" failures="{}" errors="{}" skipped="{}">"#,
            escaped(suite),
            tests.len(),
            count(Ruling::Fail),
            count(Ruling::Error),
            count(Ruling::Skip)
        );
        tests.iter().for_each(|test| test_case(&mut text, test, subject, &command));
        text.push_str("  </testsuite>\n");
    }
    text + "</testsuites>\n"
}

fn test_case(text: &mut String, test: &[&Finding], subject: &str, command: impl Fn(&Finding) -> String) {
    let Some(first) = test.first() else { return };
    let words = [first.driver.clone(), first.variation.clone()].into_iter().filter(|word| !word.is_empty());
    let words: Vec<String> = words.chain(first.seed.map(|seed| format!("seed {seed}"))).collect();
    let name = format!("{} [{}]: {}", first.case, words.join(", "), first.says);
    let _ = writeln!(text, r#"    <testcase classname="{}" name="{}">"#, escaped(subject), escaped(&name));
    let worst = ruling(test.iter().copied());
    let lines: Vec<String> = test.iter().filter(|one| one.ruling == worst).map(ToString::to_string).collect();
    let message = escaped(&lines.join("\n"));
    let repeat = escaped(&command(first));
    let _ = match worst {
        Ruling::Pass => Ok(()),
        Ruling::Skip => writeln!(text, r#"      <skipped message="{message}"/>"#),
        Ruling::Fail => writeln!(text, r#"      <failure message="{message}">{repeat}</failure>"#),
        Ruling::Error => writeln!(text, r#"      <error message="{message}">{repeat}</error>"#),
    };
    text.push_str("    </testcase>\n");
}

/// As XML has it in attributes and between tags; characters that XML cannot have are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

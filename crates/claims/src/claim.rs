//! Claims: a paper's statements, as numbers or orders, and the files that hold them (`claims/*.toml`).

use crate::claim_file::{ClaimError, at, expression, group, line_of, malformed};
use crate::expression::Expression;
use crate::figure::{Figure, FigureText};
use crate::kind::{Bands, Kind, Verdict};
use crate::{DataSet, Environment, Reason, Recordings};
use cellcc_units::instead;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// A statement of a paper, and how the runs are held against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Its name: `REM-04`.
    pub id: String,
    /// The file that it is in, without its ending: `reminis`.
    pub group: String,
    /// Place in the paper.
    pub source: String,
    /// The paper's statement.
    pub says: String,
    /// The value, as the paper has it: `2.2x`.
    pub reports: String,
    /// Kind of comparison between the value and the paper's.
    pub kind: Kind,
    /// Thresholds of a hit and of partly; none: those of the kind.
    pub thresholds: Option<(f64, f64)>,
    /// True if the paper has no number for it, so that the threshold is ours.
    pub threshold_is_ours: bool,
    /// Stand-in for the paper's own conditions, such as recordings for live networks: the verdict is then at most partly.
    pub stand_in: Option<String>,
    /// A remark of its own; its [reasons](Claims::reasons) say why it is missed.
    pub note: String,
    pub(crate) paper: Option<f64>,
    pub(crate) by: By,
    pub(crate) place: (String, usize),
}

/// Basis of a claim's verdict.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum By {
    /// A quantity, and further data sets for which it is also shown.
    Quantity { text: String, expression: Expression, also: Vec<String> },
    /// Another program or test, which this command cannot run: its value, its verdict, and its name.
    Elsewhere { value: String, verdict: Verdict, by: String },
    /// None, for this reason.
    Nothing(String),
}

/// The claims and figures of all files, and the data sets that they are about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claims {
    /// In the order of the files.
    pub claims: Vec<Claim>,
    /// Reasons why claims are missed or not judged, in the order of the files.
    pub reasons: Vec<Reason>,
    /// In the order of the files.
    pub figures: Vec<Figure>,
    /// By their names.
    pub data: BTreeMap<String, DataSet>,
    /// By their names.
    pub environments: BTreeMap<String, Environment>,
    /// File and line of each data set.
    pub(crate) data_places: BTreeMap<String, (String, usize)>,
    /// The recordings.
    pub recordings: Recordings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(default)]
    data: BTreeMap<Spanned<String>, DataSet>,
    #[serde(default)]
    environment: BTreeMap<String, Environment>,
    #[serde(default)]
    claim: Vec<Spanned<ClaimText>>,
    #[serde(default)]
    reason: Vec<Spanned<Reason>>,
    #[serde(default)]
    figure: Vec<Spanned<FigureText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimText {
    id: String,
    source: String,
    says: String,
    #[serde(default)]
    reports: String,
    paper: Option<f64>,
    kind: Option<Spanned<String>>,
    value: Option<Spanned<String>>,
    #[serde(default)]
    also: Vec<String>,
    threshold: Option<Spanned<String>>,
    hit: Option<f64>,
    partly: Option<f64>,
    stand_in: Option<String>,
    elsewhere: Option<ElsewhereText>,
    cannot: Option<String>,
    #[serde(default)]
    note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ElsewhereText {
    by: String,
    value: String,
    verdict: Verdict,
}

impl Claims {
    /// Reads files of claims, each a name and a text, and that of the recordings.
    ///
    /// # Errors
    /// The first thing that is wrong, with its file and line.
    pub fn read<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
        recordings: (&str, &str),
    ) -> Result<Self, ClaimError> {
        let (name, text) = recordings;
        let recordings = toml::from_str(text).map_err(|error| malformed(name, text, &error))?;
        let mut all = Self { recordings, ..Self::default() };
        for (name, text) in files {
            all.add(name, text)?;
        }
        all.complete()?;
        Ok(all)
    }

    fn add(&mut self, name: &str, text: &str) -> Result<(), ClaimError> {
        let file: FileText = toml::from_str(text).map_err(|error| malformed(name, text, &error))?;
        let line = |span: Range<usize>| line_of(text, span.start);
        for (key, data) in file.data {
            let line = line(key.span());
            let key = key.into_inner();
            if self.data.insert(key.clone(), data).is_some() {
                return Err(at(name, line, format!("the data set `{key}` is there twice")));
            }
            self.data_places.insert(key, (name.to_owned(), line));
        }
        self.environments.extend(file.environment);
        for claim in file.claim {
            let first_line = line(claim.span());
            let claim = self.claim(name, text, first_line, claim.into_inner())?;
            if let Some(other) = self.claims.iter().find(|other| other.id == claim.id) {
                let (file, line) = &other.place;
                return Err(at(
                    name,
                    first_line,
                    format!("`{}` is there already, at {file}:{line}", claim.id),
                ));
            }
            self.claims.push(claim);
        }
        for reason in file.reason {
            self.add_reason(name, line(reason.span()), reason.into_inner())?;
        }
        for figure in file.figure {
            let first_line = line(figure.span());
            self.figures.push(Figure::read(name, text, first_line, figure.into_inner())?);
        }
        Ok(())
    }

    fn claim(&self, name: &str, text: &str, first: usize, given: ClaimText) -> Result<Claim, ClaimError> {
        let wrong = |problem: String| at(name, first, format!("{}: {problem}", given.id));
        let by = match (&given.value, given.elsewhere, given.cannot) {
            (Some(value), None, None) => {
                let expression = expression(name, text, &given.id, value)?;
                By::Quantity { text: value.get_ref().clone(), expression, also: given.also }
            }
            (None, Some(ElsewhereText { by, value, verdict }), None) => By::Elsewhere { value, verdict, by },
            (None, None, Some(why)) => By::Nothing(why),
            _ => return Err(wrong("write one of `value`, `elsewhere` and `cannot`".into())),
        };
        let kind = match (&given.kind, &by) {
            (Some(kind), _) => kind
                .get_ref()
                .parse()
                .map_err(|problem| at(name, line_of(text, kind.span().start), problem))?,
            // A claim that is not judged here needs no kind.
            (None, By::Elsewhere { .. } | By::Nothing(_)) => Kind::Bound,
            (None, By::Quantity { .. }) => {
                return Err(wrong("`kind` is missing, such as `kind = \"times\"`".into()));
            }
        };
        if let Some(threshold) = given.threshold.as_ref().filter(|threshold| threshold.get_ref() != "ours") {
            let line = line_of(text, threshold.span().start);
            return Err(at(
                name,
                line,
                "`threshold` is `\"ours\"`, where the paper has no number, or left out".into(),
            ));
        }
        let thresholds = match (given.hit, given.partly) {
            (Some(hit), Some(partly)) if given.threshold.is_some() => Some((hit, partly)),
            (None, None) => None,
            _ => return Err(wrong("`hit` and `partly` stand together, with `threshold = \"ours\"`".into())),
        };
        if matches!(by, By::Quantity { .. })
            && kind.needs_number()
            && given.paper.is_none()
            && thresholds.is_none()
        {
            return Err(wrong(format!(
                "a claim of the kind `{kind}` needs the paper's number: `paper = 2.2`"
            )));
        }
        Ok(Claim {
            group: group(name),
            threshold_is_ours: given.threshold.is_some(),
            id: given.id,
            source: given.source,
            says: given.says,
            reports: given.reports,
            kind,
            thresholds,
            stand_in: given.stand_in,
            note: given.note,
            paper: given.paper,
            by,
            place: (name.to_owned(), first),
        })
    }

    /// Completes variants of data sets from their bases, and checks that each set names a Scenario and known recordings.
    fn complete(&mut self) -> Result<(), ClaimError> {
        let given = self.data.clone();
        for (name, data) in &mut self.data {
            let (file, line) = self.data_places[name].clone();
            let wrong = |problem: String| at(&file, line, format!("data set `{name}`: {problem}"));
            if let Some(base) = &data.from {
                let known: Vec<&str> = given.keys().map(String::as_str).collect();
                let base = given.get(base).filter(|base| base.from.is_none()).ok_or_else(|| {
                    wrong(format!(
                        "`{base}` is no data set that a variant can be of{}",
                        instead(base, "there are", &known.join(", "))
                    ))
                })?;
                *data = std::mem::take(data).over(base);
            }
            if data.scenario.is_empty() {
                return Err(wrong("it names no Scenario: `scenario = \"scenarios/reminis/sa.toml\"`".into()));
            }
            data.links(&self.recordings).map_err(wrong)?;
        }
        Ok(())
    }

    /// The claims and figures with this name, group or place in their paper: `REM-04`, `REM-*`, `reminis`, `table-2`.
    ///
    /// # Errors
    /// A name that none of them has.
    pub fn named(&self, name: &str) -> Result<(Vec<&Claim>, Vec<&Figure>), String> {
        let pattern = glob::Pattern::new(name).map_err(|error| format!("`{name}`: {error}"))?;
        let options = glob::MatchOptions { case_sensitive: false, ..Default::default() };
        let is = |id: &str, group: &str, source: &str| {
            pattern.matches_with(id, options) || group == name || is_in(source, name)
        };
        let claims: Vec<&Claim> =
            self.claims.iter().filter(|one| is(&one.id, &one.group, &one.source)).collect();
        let figures: Vec<&Figure> =
            self.figures.iter().filter(|one| is(&one.id, &one.group, &one.source)).collect();
        if claims.is_empty() && figures.is_empty() {
            let ids: Vec<&str> = self.claims.iter().map(|claim| claim.id.as_str()).collect();
            let shown: String = name.chars().take(60).collect();
            // The ids are too many to name.
            let meant = instead(&shown, "there are", &ids.join(", "));
            let meant = meant.split_once(" There are").map_or("; write", |(meant, _)| meant);
            let write = if meant.ends_with('?') { " Write" } else { "" };
            return Err(format!(
                "`{shown}` is no claim{meant}{write} an id such as REM-04, a pattern such as 'REM-*', a paper such as reminis, or a \
                 place such as table-2"
            ));
        }
        Ok((claims, figures))
    }
}

impl Claim {
    /// Ranges of its values for a hit and for partly.
    pub(crate) fn bands(&self) -> Bands {
        let Some((hit, partly)) = self.thresholds else {
            return self.kind.bands(self.paper.unwrap_or(f64::NAN));
        };
        // At most where more is worse.
        let is_most = matches!(self.kind, Kind::AtMost | Kind::FlatRange | Kind::FlatRatio);
        let band = |bound: f64| if is_most { (f64::NEG_INFINITY, bound) } else { (bound, f64::INFINITY) };
        Bands { hit: band(hit), partly: band(partly) }
    }

    /// The expression that is judged, and its copies for further data sets, with their names.
    pub(crate) fn quantities(&self) -> Vec<(Option<&str>, Expression)> {
        let By::Quantity { expression, also, .. } = &self.by else { return Vec::new() };
        let others = also.iter().map(|data| (Some(data.as_str()), expression.of_data(data)));
        std::iter::once((None, expression.clone())).chain(others).collect()
    }
}

/// True if a place in a paper has these words: `Table 2, Figure 4` has `table-2`.
fn is_in(source: &str, words: &str) -> bool {
    let slug: String =
        source.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let slug = format!("-{slug}-").replace("-fig-", "-figure-");
    !words.is_empty() && slug.contains(&format!("-{}-", words.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIM: &str = "[data.sa]\nscenario = 's.toml'\nrecordings = '5g'\n\n[[claim]]\nid = 'REM-04'\nsource = 'abstract; Fig 8'\n\
                         says = 'p95'\npaper = 2.2\nkind = 'times'\nvalue = 'sa: mean(power(bbr))'\n";
    const RECORDINGS: (&str, &str) = ("claims/recordings.toml", "'5g/001.mbps' = 'hash'\n");

    fn read(text: &str) -> Result<Claims, String> {
        Claims::read([("claims/reminis.toml", text)], RECORDINGS).map_err(|error| error.to_string())
    }

    #[test]
    fn a_claim_has_its_paper_and_place_as_names() {
        let claims = read(CLAIM).unwrap();
        for name in ["REM-04", "rem-*", "reminis", "figure-8", "abstract"] {
            assert_eq!(claims.named(name).unwrap().0.len(), 1, "{name}");
        }
        let refused = claims.named("REM-05").unwrap_err();
        assert!(refused.contains("is no claim; did you mean `REM-04`? Write an id"), "{refused}");
        let refused = claims.named("nothing like it").unwrap_err();
        assert!(refused.contains("is no claim; write an id"), "{refused}");
        assert!(claims.named("figure-9").is_err());
    }

    #[test]
    fn a_reason_is_written_once_and_said_of_each_of_its_claims() {
        let reason = "\n[[reason]]\nid = 'grain'\ntitle = 'Whole milliseconds'\nclaims = ['REM-04']\ntext = 'Copa wants two packets.'\n";
        let claims = read(&format!("{CLAIM}{reason}")).unwrap();
        assert_eq!(claims.remark(&claims.claims[0]), "Whole milliseconds. Copa wants two packets.");
        for (from, to, expected) in [
            ("['REM-04']", "['REM-05']", "reminis.toml:13: reason `grain`: `REM-05` is no claim"),
            ("['REM-04']", "[]", "it explains no claim"),
            ("Whole milliseconds", "a b c d e f g h i j k l m", "its title has more than twelve words"),
        ] {
            let error = read(&format!("{CLAIM}{}", reason.replace(from, to))).unwrap_err();
            assert!(error.contains(expected), "{to}: `{expected}` is not in: {error}");
        }
        assert!(read(&format!("{CLAIM}{reason}{reason}")).unwrap_err().contains("it is there already"));
    }

    #[test]
    fn what_is_wrong_is_named_with_file_and_line() {
        for (from, to, expected) in [
            ("power(bbr)", "powr(bbr)", "reminis.toml:11: REM-04, in `powr(bbr))`: `powr` is no metric"),
            ("'times'", "'tiems'", "reminis.toml:10: `tiems` is no kind of claim; did you mean `times`?"),
            ("paper = 2.2\n", "", "reminis.toml:5: REM-04: a claim of the kind `times` needs"),
            ("paper = 2.2", "papr = 2.2", "reminis.toml:9: unknown field `papr`"),
            ("recordings = '5g'", "recordings = '6g'", "reminis.toml:1: data set `sa`: `6g` is no recording"),
            ("scenario = 's.toml'", "from = 'sb'", "reminis.toml:1: data set `sa`: `sb` is no data set"),
            ("value = 'sa: mean(power(bbr))'", "", "write one of `value`, `elsewhere`"),
            ("kind = 'times'", "kind = 'times'\nhit = 3", "`hit` and `partly` stand together"),
            (
                "kind = 'times'",
                "kind = 'times'\nthreshold = 'theirs'",
                "reminis.toml:11: `threshold` is `\"ours\"`",
            ),
        ] {
            let error = read(&CLAIM.replace(from, to)).unwrap_err();
            assert!(error.contains(expected), "{to}: `{expected}` is not in: {error}");
        }
        let twice = format!("{CLAIM}{}", &CLAIM[CLAIM.find("[[claim]]").unwrap()..]);
        assert!(
            read(&twice)
                .unwrap_err()
                .contains("reminis.toml:12: `REM-04` is there already, at claims/reminis.toml:5")
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC*") {
            let _ = read(&text);
            let _ = read(&CLAIM.replace("mean(power(bbr))", &text.replace('\'', "")));
            let _ = read(&CLAIM.replace("scenario", &text.replace(['\'', '\n'], "")));
        }
    }
}

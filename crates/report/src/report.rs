//! The report of a plan's finished runs: the common output of every program, and the files in their folder.

use crate::comparison::{Comparison, distinct, of_schemes};
use crate::html::{self, Placed};
use crate::relative::HeldAgainst;
use crate::{ReportError, TableFormat, TableOptions, data, figures, tables};
use cellcc_experiment::{Record, same_scheme};

/// The heading where a plan has no title.
const TITLE: &str = "Comparison of congestion controls";

/// Finished runs under the title of their plan, held against its baseline.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    title: &'a str,
    records: &'a [Record],
    held_against: HeldAgainst<'a>,
}

/// A file in the folder of the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    /// Its name: `report.html`, or that of a figure.
    pub name: String,
    /// Its content.
    pub content: String,
}

impl<'a> Report<'a> {
    /// The runs with the title and the baseline of their plan; either may be empty. Where all runs of the baseline failed, or
    /// are in other shares, there are no ratios to it.
    pub fn new(title: &'a str, records: &'a [Record], baseline: &str) -> Self {
        let title = if title.is_empty() { TITLE } else { title };
        let planned = Some(baseline).filter(|planned| !planned.is_empty());
        let baseline = planned.and_then(|planned| named("baseline", records, planned).ok());
        Self { title, records, held_against: baseline.map_or(HeldAgainst::Nothing, HeldAgainst::Scheme) }
    }

    /// Compares with another scheme.
    ///
    /// # Errors
    /// [`ReportError::Scheme`] where no run has that scheme.
    pub fn against(self, baseline: &str) -> Result<Self, ReportError> {
        let held_against = HeldAgainst::Scheme(named("baseline", self.records, baseline)?);
        Ok(Self { held_against, ..self })
    }

    /// Compares each row with that of other results, which have this name, instead of a baseline.
    #[must_use]
    pub fn against_results(self, others: &'a [Record], name: &'a str) -> Self {
        Self { held_against: HeldAgainst::Results(others, name), ..self }
    }

    /// The runs as a [`table`](crate::table) with these options.
    pub fn table(&self, format: TableFormat, width: usize, options: &TableOptions) -> String {
        tables::table(self.records, format, self.held_against, width, options)
    }

    /// The runs as one HTML file.
    pub fn html(&self) -> String {
        html::html(self.title, self.records, self.held_against, Placed::Alone)
    }

    /// Every figure as SVG, series that the page has no room for, and then `report.html`; held against other results, instead of
    /// figures and report a page of its own, `report-against.html`. No file where there are no runs.
    pub fn files(&self) -> Vec<ReportFile> {
        if self.records.is_empty() {
            return Vec::new();
        }
        // Held against others, the results have a page more, and keep their own.
        let is_held = self.is_held_against_results();
        let figures = if is_held { Vec::new() } else { figures(self.title, self.records) }.into_iter();
        let figures =
            figures.map(|figure| ReportFile { name: format!("{}.svg", figure.name), content: figure.svg() });
        figures.chain(self.page(Placed::InFolder)).collect()
    }

    /// The files of a page that follows runs which go on; `progress` says how far they are. The page asks for `progress.js`,
    /// now and then, which hands it `{"progress": {"words": ..., "is_running": ...}}` by `cellccPart`, and is read again when
    /// the words change.
    pub fn live_files(&self, progress: &str) -> Vec<ReportFile> {
        self.page(Placed::Live(progress)).collect()
    }

    fn is_held_against_results(&self) -> bool {
        matches!(self.held_against, HeldAgainst::Results(..))
    }

    /// The series without room in the page, and the page.
    fn page(&self, placed: Placed) -> impl Iterator<Item = ReportFile> {
        let series = data::series_script(&Comparison::new(self.records));
        let series = series.map(|content| ReportFile { name: "report-series.js".into(), content });
        let content = html::html(self.title, self.records, self.held_against, placed);
        let name = if self.is_held_against_results() { "report-against.html" } else { "report.html" };
        series.into_iter().chain([ReportFile { name: name.into(), content }])
    }
}

/// The scheme of the Records that `text`, given with this flag, names.
fn named<'a>(flag: &'static str, records: &'a [Record], text: &str) -> Result<&'a str, ReportError> {
    let schemes = distinct(of_schemes(records).map(|run| run.scenario.scheme.as_str()));
    let found = schemes.iter().find(|scheme| same_scheme(scheme, text)).copied();
    found.ok_or_else(|| ReportError::Scheme(flag, text.chars().take(80).collect(), schemes.join(", ")))
}

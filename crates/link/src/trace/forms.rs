//! The forms of files that are read, in one list: detection, messages and docs/how-to/traces.md use it.

use super::{Choice, Delays, Problem, TraceError, data_lines, shown};
use super::{bare_numbers, flent, iperf3, json, lines, named_columns, netem_trace, ping, with_units};
use crate::capacity::Capacity;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// A form of file.
#[derive(Debug)]
pub struct Form {
    /// Its name.
    pub name: &'static str,
    /// The programs and data sets that write it.
    pub written_by: &'static str,
    /// The content that is read.
    pub taken: &'static str,
    /// The content that is not.
    pub left_out: &'static str,
    is: fn(&Given<'_>) -> bool,
    read: fn(&Given<'_>) -> Result<Content, TraceError>,
}

/// The form whose columns can be chosen.
const TABLE: &str = "table";

/// Every form; the first one that recognises a file reads it.
pub static FORMS: [Form; 13] = [
    Form {
        name: "Mahimahi",
        written_by: "Mahimahi, Pantheon, `cellcc trace record`: `.mahi`, `.up`, `.down`",
        taken: "milliseconds at which 1500 bytes may leave, one per line",
        left_out: "",
        is: |given| given.ends_with(&["mahi", "up", "down"]),
        read: lines::mahimahi,
    },
    Form {
        name: "rate",
        written_by: "Pensieve's and other ABR papers; `.mbps`, or two numbers per line",
        taken: "seconds and Mbit/s; a rate holds until the next line",
        left_out: "",
        is: |given| given.ends_with(&["mbps"]) || given.first_fields(2),
        read: lines::rates,
    },
    Form {
        name: "bare numbers",
        written_by: "Mahimahi under another ending; SCReAM, LeoCC",
        taken: "Mahimahi's milliseconds if they can be, otherwise as `as=` says, such as `as=kbit/s@100ms`",
        left_out: "",
        is: |given| given.first_fields(1) && !given.ends_with(&["csv"]),
        read: bare_numbers::undecided,
    },
    Form {
        name: "Sabre",
        written_by: "Sabre's JSON",
        taken: "`duration_ms`, `bandwidth_kbps`; `latency_ms` as a round-trip time",
        left_out: "",
        is: |given| given.is_json_with(&["bandwidth_kbps", "duration_ms"]),
        read: json::sabre,
    },
    Form {
        name: "AlphaRTC",
        written_by: "the JSON of OpenNetLab's gym and AlphaRTC",
        taken: "`duration` and `capacity` of the direction that has a `trace_pattern`; `rtt` as a round-trip time; `loss` as a note",
        left_out: "`jitter`",
        is: |given| given.is_json_with(&["trace_pattern"]),
        read: json::alpha_rtc,
    },
    Form {
        name: "Genet",
        written_by: "the JSON of Genet and its PCC simulator",
        taken: "`timestamps`, `bandwidths`; `delays` as one-way delays; `loss` and `queue` as notes",
        left_out: "`delay_noise`, `T_s`",
        is: |given| given.is_json_with(&["timestamps", "bandwidths"]),
        read: json::genet,
    },
    Form {
        name: "netem-trace",
        written_by: "the JSON of netem-trace and rattan",
        taken: "static rates, static delays (one-way), and patterns of them",
        left_out: "models that draw at random are refused",
        is: |given| given.is_json_with(&["Config"]),
        read: netem_trace::read,
    },
    Form {
        name: "iperf3 (JSON)",
        written_by: "`iperf3 --json`",
        taken: "the sum of each interval",
        left_out: "omitted intervals; the other direction of `--bidir`",
        is: |given| given.is_json_with(&["intervals", "bits_per_second"]),
        read: iperf3::json,
    },
    Form {
        name: "flent",
        written_by: "flent: `.flent`, `.flent.gz`",
        taken: "the sum of downloads, otherwise of uploads; `Ping (ms) ICMP` as round-trip times",
        left_out: "all other series",
        is: |given| given.is_json_with(&["x_values", "results"]),
        read: flent::read,
    },
    Form {
        name: "iperf3",
        written_by: "`iperf3`'s text",
        taken: "the rate of each interval, of `[SUM]` where several streams run",
        left_out: "omitted intervals, the summary",
        is: |given| given.text.contains("] Interval ") && given.text.contains("bits/sec"),
        read: iperf3::text,
    },
    Form {
        name: "ping",
        written_by: "`ping` of Linux; best `ping -D`",
        taken: "round-trip times, for `--extra-delay` and `python -m cellcc.radio`",
        left_out: "",
        is: |given| given.text.contains("icmp_seq="),
        read: ping::read,
    },
    Form {
        name: "rates with units",
        written_by: "NYU-METS: `3.97,Mbits/sec`",
        taken: "a rate each second, with its unit",
        left_out: "",
        is: |given| with_units::is_row(given.first),
        read: with_units::read,
    },
    Form {
        name: TABLE,
        written_by: "spreadsheets, loggers, G-NetTrack Pro, the Irish 5G data, Lumos5G; `.csv`, or a line of names",
        taken: "a column of times and one of rates (or of delays), separated by commas, TABs, semicolons or blanks",
        left_out: "all other columns",
        is: |given| {
            given.ends_with(&["csv"]) || !given.is_json_with(&[]) && named_columns::is_header(given.first)
        },
        read: named_columns::read,
    },
];

impl Form {
    /// True for tables, whose columns can be chosen.
    pub(super) fn is_table(&self) -> bool {
        self.name == TABLE
    }
}

/// The form of this file.
pub(super) fn of(given: &Given<'_>) -> Result<&'static Form, Problem> {
    FORMS.iter().find(|form| (form.is)(given)).ok_or_else(|| unknown(given))
}

/// The refusal of a file in no form, with a line of Python that its user can complete.
fn unknown(given: &Given<'_>) -> Problem {
    let file = given.name;
    if let Some(keys) = json_keys(given.text) {
        let keys = keys.into_keys().take(MOST_KEYS).collect::<Vec<_>>().join(",");
        let python =
            format!("import json; [print(row['TIME'], row['RATE']) for row in json.load(open('{file}'))]");
        return Problem::UnknownJson { keys: printable(&keys), python };
    }
    if named_columns::is_row(given.first) {
        return named_columns::no_names(given.first);
    }
    let python = format!("[print(row.split()[0], float(row.split()[1]) / 1000) for row in open('{file}')]");
    Problem::UnknownFormat { line: shown(given.first), python }
}

/// The keys of JSON: of an object, or of the first one of a list.
fn json_keys(text: &str) -> Option<BTreeMap<String, IgnoredAny>> {
    let first = |list: Vec<_>| list.into_iter().next().unwrap_or_default();
    serde_json::from_str(text).or_else(|_| serde_json::from_str(text).map(first)).ok()
}

/// Most keys of JSON in a message.
const MOST_KEYS: usize = 20;

/// A text of a file for a message, without the signs that could garble a terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).collect()
}

impl Form {
    pub(super) fn read(&self, given: &Given<'_>) -> Result<Content, TraceError> {
        (self.read)(given)
    }
}

/// A file's text on its way to a reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    /// The file as it was named, for messages.
    pub(super) name: &'a str,
    /// Its name without folder and compression.
    pub(super) stem: &'a str,
    pub(super) text: &'a str,
    /// The first line of data, and its number.
    pub(super) first: &'a str,
    pub(super) line: u64,
    /// The run that is wanted of a file with several.
    pub(super) run: Option<u64>,
    /// The column of a table that is wanted.
    pub(super) column: Option<&'a str>,
}

impl<'a> Given<'a> {
    pub(super) fn new(name: &'a str, text: &'a str, choice: Choice<'a>) -> Result<Self, TraceError> {
        let (line, first) = data_lines(text).next().ok_or_else(|| TraceError::whole(name, Problem::Empty))?;
        let Choice { run, column, .. } = choice;
        Ok(Self { name, stem: super::content::stem(name), text, first, line, run, column })
    }

    pub(super) fn at(&self, line: u64, problem: Problem) -> TraceError {
        TraceError::at(self.name, line, problem)
    }

    pub(super) fn whole(&self, problem: Problem) -> TraceError {
        TraceError::whole(self.name, problem)
    }

    fn ends_with(&self, endings: &[&str]) -> bool {
        self.stem.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
    }

    /// True if the first line has `count` fields separated by white space, all of them numbers.
    fn first_fields(&self, count: usize) -> bool {
        let is_number = |field: &str| field.parse::<f64>().is_ok();
        self.first.split_whitespace().all(is_number) && self.first.split_whitespace().count() == count
    }

    /// True if the text may be JSON with these words in its keys.
    fn is_json_with(&self, words: &[&str]) -> bool {
        self.first.starts_with(['{', '[']) && words.iter().all(|word| self.text.contains(word))
    }
}

/// The content of a file.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) capacity: Option<Capacity>,
    pub(super) delays: Option<Delays>,
    /// Other findings, for people.
    pub(super) notes: Vec<String>,
}

impl From<Capacity> for Content {
    fn from(capacity: Capacity) -> Self {
        Self { capacity: Some(capacity), ..Self::default() }
    }
}

impl From<Delays> for Content {
    fn from(delays: Delays) -> Self {
        Self { delays: Some(delays), ..Self::default() }
    }
}

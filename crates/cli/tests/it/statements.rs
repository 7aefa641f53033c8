//! Statements of the documents that the program can be asked about: lists of schemes, counts, and samples of messages.

use crate::documents::ROOT;
use cellcc_assist::{FeedbackFile, FeedbackPath};
use cellcc_netassist::source::{CountersReader, MessageReader, Recording, gnb, mec::MecReader};
use cellcc_netassist::{ServiceClock, open5gs_sessions};
use cellcc_quic::Congestion;
use cellcc_schemes::IN_KERNEL;
use cellcc_units::{Span, Time};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(name)).expect("a document")
}

/// The words in backticks between two texts of a document.
fn named<'a>(document: &'a str, from: &str, to: &str) -> BTreeSet<&'a str> {
    let (_, rest) = document.split_once(from).unwrap_or_else(|| panic!("no `{from}`"));
    let (part, _) = rest.split_once(to).unwrap_or_else(|| panic!("no `{to}` after `{from}`"));
    part.split('`').skip(1).step_by(2).collect()
}

/// Four documents said that every scheme runs over QUIC.
#[test]
fn the_schemes_that_do_not_run_over_quic_are_those_that_the_documents_name() {
    let without_files = cellcc_schemes::registry();
    let is_refused = |name: &&str| {
        let scheme = without_files.parse(name).expect("a scheme needs no argument");
        Congestion::over_mapping_sockets(scheme).is_err()
    };
    let names: BTreeSet<&str> = without_files.schemes().iter().map(|scheme| &*scheme.name).collect();
    let refused: BTreeSet<&str> = names.iter().copied().filter(is_refused).collect();
    assert_eq!(named(&read("docs/how-to/drivers.md"), "QUIC refuses ", ", which"), refused);

    let all = cellcc_experiment::registry();
    let all: BTreeSet<&str> = all.schemes().iter().map(|scheme| &*scheme.name).collect();
    let from_files: BTreeSet<&str> = all.difference(&names).copied().collect();
    for document in ["docs/how-to/transfer.md", "docs/how-to/library.md"] {
        assert_eq!(named(&read(document), "model is a file (", ")"), from_files, "{document}");
    }
}

#[test]
fn the_schemes_of_the_kernel_are_those_that_the_documents_name() {
    let drivers = read("docs/how-to/drivers.md");
    let schemes: BTreeSet<&str> = IN_KERNEL.iter().map(|scheme| scheme.registry).collect();
    assert_eq!(named(&drivers, "As root also ", ", with"), schemes);
    let kernel = read("docs/how-to/kernel.md");
    let rows = kernel.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let rows: BTreeSet<&str> = rows.map(|(name, _)| name).collect();
    let missing: Vec<_> = IN_KERNEL.iter().filter(|scheme| !rows.contains(scheme.name)).collect();
    assert!(missing.is_empty(), "{:?}", missing.iter().map(|scheme| scheme.name).collect::<Vec<_>>());
}

#[test]
fn the_numbers_of_claims_figures_and_cases_are_those_of_the_files() {
    let count = |folder: &str, table: &str| -> usize {
        let files = fs::read_dir(Path::new(ROOT).join(folder)).expect("a folder").flatten();
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        texts.map(|text| text.lines().filter(|line| *line == table).count()).sum()
    };
    let counts = [
        (" claims of", count("claims", "[[claim]]")),
        (" claims,", count("claims", "[[claim]]")),
        (" figures and tables,", count("claims", "[[figure]]")),
        (" cases of", count("cases", "[[case]]")),
    ];
    let mut checked = 0;
    for name in ["README.md", "ARTIFACT.md", "CHANGELOG.md", ".zenodo.json", "docs/how-to/reproduce.md"] {
        let text = read(name);
        for (what, expected) in counts {
            for (at, _) in text.match_indices(what) {
                let before = text[..at].rsplit(|letter: char| !letter.is_ascii_digit()).next();
                if let Some(Ok(number)) = before.map(str::parse::<usize>) {
                    assert_eq!(number, expected, "{name}: {number}{what}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked >= 7, "{checked} numbers were found");
}

/// The samples of a kind of source on the page of sources: the content of its fenced blocks.
fn samples<'a>(page: &'a str, kind: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!(" {kind}\n")).unwrap_or_else(|| panic!("no sample of {kind}"));
    rest.split_once("```").expect("the end of the block").0.trim_end()
}

#[test]
fn each_sample_of_a_message_is_read_by_the_reader_of_its_kind() {
    let page = read("docs/how-to/netassist-sources.md");
    for kind in ["gnb-websocket", "gnb-udp"] {
        let message = gnb::parse(samples(&page, kind).as_bytes()).expect(kind);
        let gnb::Message::Cells { cells, left_out, .. } = message else { panic!("{kind}: {message:?}") };
        assert_eq!((cells[0].users.len(), left_out.count), (1, 0), "{kind}");
    }

    let folder = tempfile::tempdir().expect("a folder");
    let file = |kind: &str| {
        let path = folder.path().join(kind);
        fs::write(&path, samples(&page, kind)).expect("a file");
        path
    };
    let mut recording = Recording::open(&file("gnb-recording"), ServiceClock::start()).expect("a recording");
    let (_, message) = recording.read().expect("a line").expect("a message");
    assert!(matches!(gnb::parse(&message), Ok(gnb::Message::Cells { .. })));

    let line = samples(&page, "counters");
    let reading = CountersReader::default().read(Time::ZERO, line.as_bytes()).expect("a line");
    assert_eq!((reading.samples.len(), reading.left_out.count), (1, 0), "{:?}", reading.left_out);

    let (mut reader, answer) = (MecReader::new(None), samples(&page, "mec-layer2"));
    let later = answer.replace("\"seconds\":1700000000", "\"seconds\":1700000001");
    let [_, second] = [answer, later.as_str()]
        .map(|answer| reader.read(Time::ZERO, answer.as_bytes()).expect("layer-2 measurements"));
    assert_eq!((second.samples.len(), second.left_out.count), (1, 0));

    let (sessions, left_out) = open5gs_sessions(samples(&page, "open5gs").as_bytes()).expect("sessions");
    assert_eq!((sessions[0].addresses.len(), sessions[0].tunnels.len(), left_out.count), (1, 1, 0));

    let path = FeedbackPath { network: Span::ZERO, delay: Span::ZERO };
    FeedbackFile::read(&file("feedback-file"), path).expect("a feedback file");
}

/// The paragraph of a scheme's page, which stands below a mark and is written where `CELLCC_WRITE_DOCS` is set.
#[test]
fn the_page_of_each_scheme_says_what_it_was_held_against() {
    let folder = Path::new(ROOT).join("docs/algorithms");
    let pages: Vec<_> =
        fs::read_dir(folder).expect("pages").map(|page| page.expect("a page").path()).collect();
    for info in cellcc_schemes::registry().schemes() {
        let Some(held) = info.held_against else { continue };
        let mark = format!("<!-- held against: {} -->\n", info.name);
        let holder = pages.iter().find(|page| fs::read_to_string(page).expect("a page").contains(&mark));
        let page = holder.unwrap_or_else(|| panic!("no page has the line `{}`", mark.trim()));
        let text = fs::read_to_string(page).expect("a page");
        let (before, after) = text.split_once(&mark).expect("found above");
        let rest = after.split_once("\n\n").map_or(String::new(), |(_, rest)| format!("\n{rest}"));
        let says =
            format!("`{}` was held against {}. Do not use it for {}.", info.name, held.by, held.not_for);
        let written = format!("{before}{mark}{}\n{rest}", cellcc_report::wrapped(&says, 140).trim_end());
        if std::env::var_os("CELLCC_WRITE_DOCS").is_some() {
            fs::write(page, &written).expect("the page is written");
        }
        assert_eq!(fs::read_to_string(page).expect("a page"), written, "set CELLCC_WRITE_DOCS=1 to write it");
    }
}

/// The registry's entries repeat the counts of docs/fidelity/claims.md.
#[test]
fn schemes_were_held_against_their_papers_with_the_verdicts_of_the_claims() {
    let claims = read("docs/fidelity/claims.md");
    let registry = cellcc_schemes::registry();
    for (paper, scheme) in [("Reminis", "reminis"), ("RBBR", "rbbr"), ("NATCP", "natcp"), ("Verus", "verus")]
    {
        let row = claims.lines().find(|line| line.starts_with(&format!("| {paper} |"))).expect("a row");
        let counts: Vec<&str> = row.split('|').map(str::trim).collect();
        let [all, hit, partly] = [counts[2], counts[3], counts[4]];
        let held = registry.parse(scheme).expect("a scheme").info().held_against.expect("its paper");
        let says = format!("{hit} of {all} claims hit, {partly} partly");
        assert!(held.by.contains(&says), "{scheme}: {says}, and not {}", held.by);
    }
}

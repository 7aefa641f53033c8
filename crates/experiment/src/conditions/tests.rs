use super::*;
use std::fmt::Write as _;

fn condition(key: &str) -> &'static Condition {
    rows().find(|row| row.key == key).unwrap()
}

/// The keys of a Scenario file below `table`: those that a wrong one is refused with.
fn keys(table: &str) -> Vec<String> {
    let text = format!("{}x = 1", if table.is_empty() { String::new() } else { format!("[{table}]\n") });
    let error = toml::from_str::<PlanFile>(&text).unwrap_err().message().to_owned();
    let keys = error.split('`').skip(3).step_by(2);
    keys.map(|key| if table.is_empty() { key.into() } else { format!("{table}.{key}") }).collect()
}

#[test]
fn every_key_of_a_scenario_file_is_a_row_and_every_row_is_a_key() {
    let tables = ["path", "path.reverse", "endpoint", "netassist"];
    let mut found: Vec<String> = std::iter::once("").chain(tables).flat_map(keys).collect();
    found.retain(|key| key != "vary" && !tables.contains(&key.as_str()));
    let mut expected: Vec<_> = rows().map(|row| row.key).collect();
    found.sort();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn every_range_reads_as_it_is_written_and_takes_its_own_example_and_the_default() {
    for row in rows() {
        let ranged = !row.takes.range.is_empty();
        let example = row.takes.range.split(", such as ").nth(1).and_then(|text| text.split(", or").next());
        if let Some(example) = example {
            assert!(row.value(example).is_ok(), "{}: {example}", row.key);
            assert_eq!(row.check(example, Command::Compare), Ok(()), "{}", row.key);
        }
        assert!(
            !ranged || row.takes.name == "STEPS|@FILE" || row.check("nonsense", Command::Compare).is_err()
        );
    }
    assert_eq!(check(&PlanFile::default(), Command::Compare), Ok(()));
}

/// The help of `shell` and `video` once gave `--rtt` the 20 ms of `compare`, where it is 0.
#[test]
fn help_says_the_default_of_its_own_command() {
    for (key, compare, shell) in [
        ("path.rtt", " [default: 20ms]", " [default: 0s]"),
        ("path.queue", " [default: 3200pkt]", " [default: 3200pkt]"),
        ("path.reverse.queue", " [default: unlimited]", " [default: that of --queue]"),
        ("path.loss", " (e.g. 1%) [default: 0%]", " (e.g. 1%) [default: 0%]"),
        ("path.reordered_by", " packets [default: 10ms]", " packets [default: 10ms]"),
        ("path.jitter", " is set (e.g. 5ms)", " is set (e.g. 5ms)"),
    ] {
        for (command, end) in [(Command::Compare, compare), (Command::Shell, shell)] {
            let help = condition(key).help(command);
            assert!(help.ends_with(end), "{help}");
        }
    }
    assert_eq!(check(&Command::Shell.defaults(), Command::Shell), Ok(()));
}

#[test]
fn the_ends_of_a_range_are_in_it_or_not_and_in_a_shell_always() {
    for (key, inside, outside, only_in_shell) in [
        ("path.rtt", "1ns", "61s", Some("0s")),
        ("path.loss", "0%", "101%", Some("100%")),
        ("netassist.reordered", "100%", "101%", None),
        ("endpoint.mss", "64B", "63B", None),
        ("endpoint.ack_every", "1000", "1001", None),
        ("netassist.scale", "100x", "100.1x", None),
        ("path.queue", "1h", "3601s", None),
    ] {
        let check = |text: &str, command| condition(key).check(text, command).is_ok();
        for command in [Command::Compare, Command::Shell] {
            assert!(check(inside, command) && !check(outside, command), "{key}");
        }
        if let Some(text) = only_in_shell {
            assert!(!check(text, Command::Compare) && check(text, Command::Shell), "{key}");
        }
    }
}

#[test]
fn a_value_out_of_range_is_named_by_the_flag_of_its_command_and_by_its_key() {
    let error = |key, text, command| condition(key).check(text, command).unwrap_err();
    assert_eq!(
        error("path.rtt", "0s", Command::Compare),
        "--rtt 0s (in a Scenario: path.rtt) is out of range; write above 0s up to 60s, such as 20ms"
    );
    assert_eq!(
        error("path.reverse.loss", "2x", Command::Shell),
        "--up-loss 2x (in a Scenario: path.reverse.loss) is out of range; write 0% to 100%, such as 1%"
    );
    assert_eq!(
        error("netassist.reordered", "2x", Command::Compare),
        "netassist.reordered = 2x is out of range; write 0% to 100%, such as 1%"
    );
}

#[test]
fn what_is_given_has_the_last_word_and_is_varied_no_more() {
    let text =
        "[path]\nrtt = '5ms'\nloss = '1%'\n[vary]\n'path.rtt' = ['1ms', '2ms']\n'duration' = ['1s', '2s']";
    let file: PlanFile = toml::from_str(text).unwrap();
    let given =
        toml::from_str("'path.rtt' = '9ms'\n'cell' = { scheduler = 'round-robin', users = ['3g'] }").unwrap();
    let with = file.with(&given).unwrap();
    assert_eq!((with.path.rtt, with.path.loss), ("9ms".parse().unwrap(), file.path.loss));
    assert_eq!(with.cell.as_ref().unwrap().users, ["3g"]);
    assert_eq!(with.variations().unwrap().len(), 2);
    let refused = |given| file.with(&toml::from_str(given).unwrap()).unwrap_err();
    assert!(refused("'path.rtt' = '9ms'\n'path.queue' = '33'").starts_with("queue: "));
    assert!(refused("'path.rtt.x' = '9ms'").contains("has no keys"));
}

const INTRODUCTION: &str = "\
# Run parameters

Each run parameter has a key in a [Scenario file](how-to/compare.md#the-same-again); `path.rtt` is `rtt` in the table `[path]`.
Many have a flag of `cellcc compare` and `cellcc slurm`, which overrides the file. In Python, `cellcc.compare` takes the keys as
dictionaries, `path={\"rtt\": \"20ms\"}`, and the most frequent ones as arguments. All except the grid's can be
[varied](how-to/compare.md#over-a-run-parameter). `cellcc shell` and `cellcc video` have flags for the path; their `--rtt` defaults
to 0. An empty default means zero, off or none.

A test writes this page from the table in `crates/experiment/src/conditions/table.rs`.
";

/// docs/conditions.md, which this writes where `CELLCC_WRITE_DOCS` is set.
#[test]
fn the_page_of_conditions_is_made_of_the_rows() {
    let mut page = INTRODUCTION.to_owned();
    for section in &SECTIONS {
        let heading = section.heading.unwrap_or(if section.varies { "Time" } else { "The grid of runs" });
        let _ = write!(
            page,
            "\n## {heading}\n\n| flag | key | takes | default | meaning |\n|---|---|---|---|---|\n"
        );
        for row in section.rows {
            let flag = row.flag(Command::Compare).map(|flag| format!("`--{flag}`")).unwrap_or_default();
            let range = row.takes.range.split(", such as ").next().unwrap_or_default();
            let default = row.default(Command::Compare).map(|text| format!("`{text}`")).unwrap_or_default();
            let _ = writeln!(
                page,
                "| {flag} | `{}` | {range} | {default} | {} |",
                row.key,
                row.explained().replace('|', "\\|")
            );
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conditions.md");
    if std::env::var_os("CELLCC_WRITE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        page,
        "set CELLCC_WRITE_DOCS=1 to write the page"
    );
}

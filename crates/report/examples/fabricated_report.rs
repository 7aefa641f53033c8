//! Writes a report, figures and a table of fabricated Records, to look at:
//! `cargo run -p cellcc-report --example fabricated_report -- DIR [small|large|one-key|two-keys]`.

#[path = "../tests/it/fabricated/mod.rs"]
mod fabricated;

use cellcc_experiment::Record;
use cellcc_report::{DEFAULT_WIDTH, Report, TableFormat, TableOptions, png};
use cellcc_units::Span;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

const SCHEMES: [&str; 6] = ["limit", "cubic", "newreno", "bbr", "vegas", "reminis(dtt=1x)"];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name a folder")?);
    let kind = std::env::args().nth(2).unwrap_or_else(|| "small".into());
    let (title, records) = match kind.as_str() {
        "small" => ("Reminis and four others on four 5G traces", small()),
        "large" => ("Twenty schemes on sixty traces", large()),
        "one-key" => {
            ("Thirty-five queues", fabricated::varied(&SCHEMES[..4], &["walk"], &texts(&queues(35))))
        }
        "two-keys" => (
            "Two keys, seventy rows",
            fabricated::varied_twice(
                &SCHEMES[1..3],
                &["walk"],
                &texts(&queues(7)),
                &["20ms", "40ms", "60ms", "80ms", "100ms"],
            ),
        ),
        other => return Err(format!("{other}: neither small, large, one-key nor two-keys").into()),
    };
    let report = Report::new(title, &records, "cubic");
    fs::create_dir_all(&folder)?;
    for file in report.files() {
        fs::write(folder.join(&file.name), &file.content)?;
        if let Some(stem) = file.name.strip_suffix(".svg") {
            fs::write(folder.join(format!("{stem}.png")), png(&file.content)?)?;
        }
    }
    let table = report.table(TableFormat::Table, DEFAULT_WIDTH, &TableOptions::default());
    fs::write(folder.join("table.txt"), table)?;
    Ok(())
}

fn small() -> Vec<Record> {
    let traces = fabricated::trace_names(4);
    let mut records = fabricated::records(&SCHEMES, &texts(&traces), &[1, 2, 3], Span::from_secs(60));
    fabricated::add_curves(&mut records, SCHEMES[5], 60);
    records
}

fn large() -> Vec<Record> {
    let variants = (1..=16).map(|dtt| format!("reminis(dtt={dtt}0ms)"));
    let schemes: Vec<String> = SCHEMES[..5].iter().map(|&name| name.to_owned()).chain(variants).collect();
    fabricated::records(&texts(&schemes), &texts(&fabricated::trace_names(60)), &[1], Span::from_secs(120))
}

fn queues(count: usize) -> Vec<String> {
    (1..=count).map(|index| format!("{}pkt", index * 20)).collect()
}

fn texts(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

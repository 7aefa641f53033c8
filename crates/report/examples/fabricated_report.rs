//! Writes a report, figures and tables of fabricated Records: `cargo run -p cellcc-report --example fabricated_report -- DIR`.

#[path = "../tests/it/fabricated/mod.rs"]
mod fabricated;

use cellcc_report::{DEFAULT_WIDTH, TableFormat, figures, html, png, table};
use cellcc_units::Span;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

const SCHEMES: [&str; 6] = ["limit", "cubic", "newreno", "bbr", "vegas", "reminis(dtt=1x)"];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name a folder")?);
    fs::create_dir_all(&folder)?;
    let traces = fabricated::trace_names(8);
    let traces: Vec<&str> = traces.iter().map(String::as_str).collect();
    let mut records = fabricated::records(&SCHEMES, &traces, &[1, 2, 3], Span::from_secs(60));
    fabricated::add_curves(&mut records, SCHEMES[5], 60);
    let title = "Reminis and four others on eight 5G traces";
    fs::write(folder.join("report.html"), html(title, &records, Some("cubic")))?;
    fs::write(folder.join("table.txt"), table(&records, TableFormat::Table, Some("cubic"), DEFAULT_WIDTH))?;
    for figure in figures(title, &records) {
        let svg = figure.svg();
        fs::write(folder.join(format!("{}.svg", figure.name)), &svg)?;
        fs::write(folder.join(format!("{}.png", figure.name)), png(&svg)?)?;
    }
    Ok(())
}

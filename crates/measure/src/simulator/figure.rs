//! The figure of a packet's cost among many flows, from the table of docs/evidence/cost/packet.md: the numbers have one place.

use crate::{Outcome, simulator::misses::SCHEMES};
use cellcc_report::{Axis, Figure, Key, Mark, Panel, Shape, Style};

/// The quantities that are drawn, and their columns, counted from that of scheme and flows.
const PANELS: [(&str, usize); 2] =
    [("Misses of the last level for a packet", 2), ("Nanoseconds for a packet", 3)];
/// Height of a panel on paper.
const INCHES: f64 = 2.4;

/// A row of the table: `| cubic, 1,000 | 76.7 → 20.3 | ...`.
struct Row {
    scheme: usize,
    flows: f64,
    /// By column: before that change, and after it.
    values: Vec<[Option<f64>; 2]>,
}

impl Row {
    fn read(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.trim_matches(['|', ' ']).split('|').map(str::trim).collect();
        let (scheme, flows) = cells[0].split_once(", ")?;
        let scheme = SCHEMES.iter().position(|name| *name == scheme)?;
        Some(Self { scheme, flows: number(flows)?, values: cells.iter().map(|cell| both(cell)).collect() })
    }
}

fn number(text: &str) -> Option<f64> {
    text.replace(',', "").trim().parse().ok()
}

/// The numbers of `76.7 → 20.3`, or of a cell with the second one alone.
fn both(cell: &str) -> [Option<f64>; 2] {
    match cell.split_once('→') {
        Some((before, after)) => [number(before), number(after)],
        None => [None, number(cell)],
    }
}

/// Prints the figure of the table in the file `page`, as SVG.
///
/// # Errors
/// A file that cannot be read, or that has no such table.
pub(crate) fn print(page: &str) -> Outcome<()> {
    let text = std::fs::read_to_string(page).map_err(|error| format!("{page}: {error}"))?;
    let rows: Vec<Row> = text.lines().filter_map(Row::read).collect();
    if rows.is_empty() {
        return Err(format!("{page} has no row such as `| cubic, 1,000 | 76.7 → 20.3 | ...`").into());
    }
    let figure = Figure {
        title: "Cache misses and time for a data packet, by number of flows; dashed: before the fields that an event touches lay together".into(),
        keys: SCHEMES.iter().enumerate().map(|(at, name)| Key::new(*name, Style::nth(at), at)).collect(),
        panels: PANELS.iter().map(|(title, column)| panel(title, *column, &rows)).collect(),
        columns: PANELS.len(),
        ..Figure::default()
    };
    print!("{}", figure.svg());
    Ok(())
}

fn panel(title: &str, column: usize, rows: &[Row]) -> Panel {
    let line = |scheme: usize, time: usize, shape| {
        let rows = rows.iter().filter(|row| row.scheme == scheme);
        let points = rows.filter_map(|row| Some((row.flows, row.values.get(column)?[time]?)));
        Mark::new(scheme, shape, points.collect())
    };
    // The key shows the shape of the first.
    let marks =
        (0..SCHEMES.len()).flat_map(|scheme| [line(scheme, 1, Shape::Path), line(scheme, 0, Shape::Dashed)]);
    let marks: Vec<Mark> = marks.filter(|mark| !mark.points.is_empty()).collect();
    let values = marks.iter().flat_map(|mark| &mark.points).map(|(_, value)| *value);
    let y = Axis::from_zero(title, values);
    Panel::new(Axis::logarithmic("Flows", rows.iter().map(|row| row.flows)), y, marks, INCHES)
}

//! Curves that a scheme shows of its inside, such as Verus' delay over the window.

use std::fmt::Write as _;

/// A curve at one moment of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Time of the record, in seconds.
    pub time_s: f64,
    /// The number of its flow within the run.
    pub flow: usize,
    /// Name of the curve: `profile`.
    pub name: String,
    /// The horizontal quantity, its unit at the end: `window_packets`.
    pub x: String,
    /// The vertical quantity: `delay_ms`.
    pub y: String,
    /// The points.
    pub points: Vec<(f32, f32)>,
}

const HEADER: &str = "time_s,flow,curve,x,y";

impl Curve {
    /// Curves as CSV: one row per point, `curve` being the name and the quantities, `profile:delay_ms(window_packets)`.
    pub fn to_csv(curves: &[Self]) -> String {
        let mut text = format!("{HEADER}\n");
        for Self { time_s, flow, name, x, y, points } in curves {
            for (at, value) in points {
                let _ = writeln!(text, "{time_s},{flow},{name}:{y}({x}),{at},{value}");
            }
        }
        text
    }

    /// Reads the output of [`to_csv`](Self::to_csv).
    ///
    /// # Errors
    /// The number of the first line that is not of that form.
    pub fn from_csv(text: &str) -> Result<Vec<Self>, usize> {
        let mut lines = text.lines();
        if lines.next() != Some(HEADER) {
            return Err(1);
        }
        let mut curves: Vec<Self> = Vec::new();
        for (index, line) in lines.enumerate() {
            let next = read(line).ok_or(index + 2)?;
            match curves.last_mut().filter(|curve| curve.continues_in(&next)) {
                Some(curve) => curve.points.extend(next.points),
                None => curves.push(next),
            }
        }
        Ok(curves)
    }

    fn continues_in(&self, next: &Self) -> bool {
        let when = (self.time_s, self.flow) == (next.time_s, next.flow);
        when && (&self.name, &self.x, &self.y) == (&next.name, &next.x, &next.y)
    }
}

/// A row: a curve of one point.
fn read(line: &str) -> Option<Curve> {
    let mut cells = line.split(',');
    let mut cell = || cells.next();
    let (time_s, flow, what) = (cell()?.parse().ok()?, cell()?.parse().ok()?, cell()?);
    let (name, quantities) = what.split_once(':')?;
    let (y, x) = quantities.strip_suffix(')')?.split_once('(')?;
    let points = vec![(cell()?.parse().ok()?, cell()?.parse().ok()?)];
    Some(Curve { time_s, flow, name: name.into(), x: x.into(), y: y.into(), points })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(time_s: f64, flow: usize) -> Curve {
        let [name, x, y] = ["verus.profile", "window_packets", "delay_ms"].map(String::from);
        Curve { time_s, flow, name, x, y, points: vec![(1.0, 20.5), (2.0, 21.0)] }
    }

    #[test]
    fn what_is_written_reads_back() {
        let curves = vec![curve(1.0, 0), curve(1.0, 1), curve(2.1, 0)];
        let text = Curve::to_csv(&curves);
        assert!(
            text.starts_with(
                "time_s,flow,curve,x,y\n1,0,verus.profile:delay_ms(window_packets),1,20.5\n1,0,"
            )
        );
        assert_eq!(Curve::from_csv(&text), Ok(curves));
    }

    #[test]
    fn a_torn_line_is_named() {
        let text = Curve::to_csv(&[curve(1.0, 0)]);
        assert_eq!(Curve::from_csv(&text[..text.len() - 5]), Err(3));
        assert_eq!(Curve::from_csv("time_s,flow\n"), Err(1));
    }
}

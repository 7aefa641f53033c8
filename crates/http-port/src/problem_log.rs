//! Repeated problems in a log: some lines, and not one per occurrence.

use std::time::{Duration, Instant};

/// Different problems are written down so often in this time; the same one once. Ours: an operator sees the first ones, and how
/// many more there were.
const INTERVAL: Duration = Duration::from_secs(10);
const MAX_LINES: usize = 5;

/// The problems of one source, or of one peer.
#[derive(Debug, Default)]
pub struct ProblemLog {
    began: Option<Instant>,
    written: Vec<String>,
    unwritten: u64,
}

impl ProblemLog {
    /// The line for a problem, where one is due.
    pub fn line(&mut self, now: Instant, problem: &str) -> Option<String> {
        let mut earlier = 0;
        if self.began.is_none_or(|began| now.duration_since(began) >= INTERVAL) {
            earlier = std::mem::take(&mut self.unwritten);
            self.began = Some(now);
            self.written.clear();
        }
        if self.written.len() == MAX_LINES || self.written.iter().any(|written| written == problem) {
            self.unwritten += 1;
            return None;
        }
        self.written.push(problem.to_owned());
        Some(match earlier {
            0 => problem.to_owned(),
            count => format!("{problem} (and before it {count} problems that are not in the log)"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two problems in turn were a line each time: 2,250 in four seconds.
    #[test]
    fn problems_in_turn_are_a_few_lines_and_the_others_are_counted() {
        let mut log = ProblemLog::default();
        let began = Instant::now();
        let lines = (0..2250).filter_map(|time| log.line(began, &format!("problem {}", time % 7)));
        assert_eq!(lines.count(), MAX_LINES);
        let next = log.line(began + INTERVAL, "problem 0").unwrap();
        assert!(next.contains("2245 problems"), "{next}");
    }
}

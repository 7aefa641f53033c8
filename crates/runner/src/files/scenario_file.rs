//! `scenario.toml`: a plan as a person would write it.

use cellcc_experiment::PlanFile;
use cellcc_units::{Bytes, Ratio};
use toml::{Table, Value};

/// Keys whose ratio is a share, written in percent; others are factors.
const SHARES: [&str; 3] = ["loss", "reordered", "duplicated"];

/// Keys of sizes of packets, written in bytes.
const PACKET_SIZES: [&str; 2] = ["mss", "header"];

/// The plan as TOML. A Record keeps the texts that its id was made with: `0x` where this says `0%`.
///
/// # Errors
/// What of the plan has no form in TOML.
pub(crate) fn text(file: &PlanFile) -> Result<String, toml::ser::Error> {
    let mut table = Table::try_from(file)?;
    rewrite(&mut table);
    toml::to_string(&table)
}

fn rewrite(table: &mut Table) {
    for (key, value) in table.iter_mut() {
        match value {
            Value::Table(inner) => rewrite(inner),
            Value::String(text) => {
                let natural = if SHARES.contains(&key.as_str()) {
                    percent(text)
                } else if PACKET_SIZES.contains(&key.as_str()) {
                    text.parse::<Bytes>().ok().map(|bytes| format!("{}B", bytes.get()))
                } else {
                    None
                };
                if let Some(natural) = natural {
                    *text = natural;
                }
            }
            _ => {}
        }
    }
}

/// A ratio in percent, where that is the same number when it is read again.
fn percent(text: &str) -> Option<String> {
    let ratio: Ratio = text.parse().ok()?;
    let percent =
        format!("{}%", format!("{:.10}", ratio.get() * 100.0).trim_end_matches('0').trim_end_matches('.'));
    (percent.parse() == Ok(ratio)).then_some(percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_a_person_would_and_read_back() {
        let mut file = PlanFile::default();
        let usual = text(&file).unwrap();
        for line in ["loss = \"0%\"", "mss = \"1448B\"", "header = \"52B\""] {
            assert!(usual.contains(line), "{line}: {usual}");
        }
        file.path.loss = Ratio::new(0.015);
        // No number of percent in few digits is this share.
        file.path.reverse.loss = Ratio::new(1.0 / 3.0);
        let written = text(&file).unwrap();
        assert!(written.contains("loss = \"1.5%\""), "{written}");
        assert_eq!(toml::from_str::<PlanFile>(&written).unwrap(), file);
    }
}

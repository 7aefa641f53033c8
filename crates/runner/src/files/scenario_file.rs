//! `scenario.toml`: a plan as a person would write it.

use cellcc_experiment::{PlanFile, conditions};
use toml::{Table, Value};

/// The plan as TOML. A Record keeps the texts that its id was made with: `0x` where this says `0%`.
///
/// # Errors
/// What of the plan has no form in TOML.
pub(crate) fn text(file: &PlanFile) -> Result<String, toml::ser::Error> {
    let mut table = Table::try_from(file)?;
    for row in conditions::rows() {
        let Some(Value::String(text)) = conditions::get_mut(&mut table, row.key) else { continue };
        if let Some(natural) = row.takes.natural(text) {
            *text = natural;
        }
    }
    toml::to_string(&table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Ratio;

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

//! The flows that measure the harm of schemes to a victim (Ware et al., Beyond Jain's Fairness Index, HotNets 2019).

use crate::Mix;
use cellcc_units::Span;

/// Head start of the first of two flows.
pub const HEAD_START: Span = Span::from_secs(5);

/// Two schemes on one link; the second starts [`HEAD_START`] later.
pub fn next_to(first: &str, second: &str) -> String {
    format!("{first}+{second}@{HEAD_START}")
}

/// The schemes that the harm of each of `schemes` to `victim` needs: the victim alone and with its like, and each scheme with the
/// victim, either first.
///
/// # Errors
/// A text that is not one flow which starts with the run.
pub(crate) fn rows(schemes: &[String], victim: &str) -> Result<Vec<String>, String> {
    let alone = |text: &str| match Mix::parse(text) {
        Ok(mix) if mix.flows.len() == 1 && !mix.text.contains(['@', '~', '^', '#', '*']) => Ok(mix.text),
        _ => Err(format!("harm is between two flows, and `{text}` is not one: write SCHEME[:SOURCE]")),
    };
    let victim = alone(victim)?;
    let mut rows = vec![victim.clone(), next_to(&victim, &victim)];
    for scheme in schemes {
        let scheme = alone(scheme)?;
        if scheme != victim {
            rows.extend([next_to(&scheme, &victim), next_to(&victim, &scheme)]);
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harm_needs_the_victim_alone_with_its_like_and_with_each_scheme_in_both_orders() {
        let schemes = ["cubic", "bbr(profile=v1)"].map(String::from);
        let cubic = ["cubic", "cubic+cubic@5s"];
        let bbr = ["bbr(profile=v1)+cubic@5s", "cubic+bbr(profile=v1)@5s"];
        assert_eq!(rows(&schemes, "cubic").unwrap(), [cubic, bbr].concat());
        for text in ["cubic@5s", "2*cubic", "cubic+bbr", "cubic#1", ""] {
            assert!(rows(&[], text).unwrap_err().contains("SCHEME[:SOURCE]"), "{text}");
        }
    }
}

//! The spellings of names and units in other people's files.

/// A name in small letters with its words joined by underscores: `rate_mbit_s` for `RATE (MBit/s)`.
pub(super) fn canonical(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let words = name.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// The factor of a unit to Mbit/s. Units of bytes are none: `MB/s` and `Mb/s` differ only by a capital letter.
pub(super) fn rate_unit(unit: &str) -> Option<f64> {
    const PER_SECOND: [&str; 6] = ["bit_s", "bits_s", "bit_sec", "bits_sec", "bps", "bits_per_second"];
    const PREFIXES: [(&str, f64); 4] = [("k", 1e-3), ("m", 1.0), ("g", 1e3), ("", 1e-6)];
    let unit = canonical(unit);
    let factor =
        |(prefix, factor): (&str, f64)| PER_SECOND.contains(&unit.strip_prefix(prefix)?).then_some(factor);
    PREFIXES.into_iter().find_map(factor)
}

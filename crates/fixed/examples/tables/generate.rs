//! The tables of `src/tables.rs`, from their definitions.

use std::fmt::Write;

/// A unit of the numbers: 2^-16.
const Q16: f64 = 65536.0;

/// The file's text.
pub(crate) fn tables() -> String {
    let mut text = String::from(
        "//! Tables of functions at the ends of equal cells.\n//!\n\
         //! Made by `cargo run -p cellcc-fixed --example tables > crates/fixed/src/tables.rs`: not to be edited.\n",
    );
    let exp2 = ends(64, |end| libm::exp2(f64::from(end) / 64.0) * Q16 * 16384.0);
    write(&mut text, "EXP2", "2^x from 0 to 1 in cells of 1/64, in units of 2^-30.", &exp2);
    let sigmoid = ends(192, |end| Q16 / (1.0 + libm::exp(-f64::from(end) / 16.0)));
    write(&mut text, "SIGMOID", "1 / (1 + e^-x) from 0 to 12 in cells of 1/16, in units of 2^-16.", &sigmoid);
    let sqrt = ends(48, |end| libm::sqrt(f64::from(16 + end) * 1024.0) * Q16);
    write(&mut text, "SQRT", "The root of x from 2^14 to 2^16 in cells of 2^10, in units of 2^-16.", &sqrt);
    let normal = ends(512, |end| {
        let octave = 1u64 << (end / 16);
        let odd = octave as f64 * (1.0 + f64::from(end % 16) / 16.0);
        normal_distance(odd / libm::exp2(33.0)) * Q16
    });
    write(
        &mut text,
        "NORMAL",
        "Beyond which normal numbers have a probability from 2^-33 to 1/2, 16 cells an octave, in units of 2^-16.",
        &normal,
    );
    text
}

/// The function's values at both ends of each cell.
fn ends(cells: u32, value: impl Fn(u32) -> f64) -> Vec<u32> {
    (0..=cells).map(|end| value(end).round() as u32).collect()
}

fn write(text: &mut String, name: &str, meaning: &str, values: &[u32]) {
    let _ = write!(
        text,
        "\n/// {meaning}\n#[rustfmt::skip]\npub(crate) static {name}: [u32; {}] = [\n",
        values.len()
    );
    for line in values.chunks(10) {
        let line: Vec<String> = line.iter().map(u32::to_string).collect();
        let _ = writeln!(text, "    {},", line.join(", "));
    }
    text.push_str("];\n");
}

/// The distance from the mean, in standard deviations, that is exceeded with this probability; by bisection.
fn normal_distance(probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        let beyond = libm::erfc(middle / std::f64::consts::SQRT_2) / 2.0;
        if beyond > probability { low = middle } else { high = middle }
    }
    low
}

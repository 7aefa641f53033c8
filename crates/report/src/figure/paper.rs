//! The paper that a figure is drawn for.

use cellcc_units::{ParseError, split_number};
use std::str::FromStr;

/// How large a figure is drawn, and how large its letters are.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Paper {
    /// `None`: a column of a two-column paper, 3.5 in; where panels stand side by side, both columns, 7.16 in.
    pub width: Option<Length>,
    /// `None`: as high as its panels and its legend are.
    pub height: Option<Length>,
    /// The size of its letters; lines and marks grow with it. `None`: 7.44 points.
    pub font_size: Option<Length>,
    /// Names stand at the points and at the ends of lines, and there is no legend.
    pub labels: bool,
}

/// A length on paper: `3.5in`, `88mm`, `8.8cm`, `252pt`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Length {
    inches: f64,
}

impl Length {
    /// In inches.
    pub const fn from_inches(inches: f64) -> Self {
        Self { inches }
    }

    /// In inches.
    pub fn inches(self) -> f64 {
        self.inches
    }

    /// In points of 1/72 inch, those of PDF.
    pub fn points(self) -> f64 {
        self.inches * 72.0
    }
}

impl FromStr for Length {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        const PER_INCH: [(&str, f64); 4] = [("in", 1.0), ("mm", 25.4), ("cm", 2.54), ("pt", 72.0)];
        let inches = split_number(text).and_then(|(number, unit)| {
            Some(number / PER_INCH.iter().find(|(name, _)| *name == unit)?.1).filter(|inches| *inches > 0.0)
        });
        inches
            .map(Self::from_inches)
            .ok_or_else(|| ParseError::new(text, "a length on paper, such as `3.5in`, `88mm` or `8pt`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_has_its_unit() {
        let inches = |text: &str| text.parse::<Length>().map(Length::inches);
        assert_eq!((inches("3.5in"), inches("36pt")), (Ok(3.5), Ok(0.5)));
        assert!((inches("88.9 mm").unwrap() - 3.5).abs() < 1e-9);
        for text in ["3.5", "0in", "-1in", "3em", ""] {
            assert!(inches(text).unwrap_err().to_string().contains("such as `3.5in`"), "{text}");
        }
    }
}

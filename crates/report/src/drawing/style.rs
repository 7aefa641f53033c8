//! How a scheme looks: colour, marker and dash together, so that no meaning is in the colour alone.

use cellcc_experiment::LIMIT;
use serde::Serialize;

/// The colours of Okabe and Ito ("Color Universal Design", 2008) that are strong enough for lines on white and on
/// black. Their black is the limit's, their yellow is too pale for lines.
const COLOURS: [(u8, u8, u8); 6] = [
    (0x00, 0x72, 0xb2),
    (0xd5, 0x5e, 0x00),
    (0x00, 0x9e, 0x73),
    (0xcc, 0x79, 0xa7),
    (0xe6, 0x9f, 0x00),
    (0x56, 0xb4, 0xe9),
];

/// Corners of the markers, in units of their radius, y downwards; a circle has none.
/// Five shapes and four dashes beside six colours: sixty schemes look different.
const MARKERS: [&[(f64, f64)]; 5] = [
    &[],
    &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    &[(0.0, -1.1), (1.1, 0.8), (-1.1, 0.8)],
    &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
    &[(0.0, 1.1), (-1.1, -0.8), (1.1, -0.8)],
];

/// The limit's star.
const STAR: &[(f64, f64)] = &[
    (0.0, -1.4),
    (0.33, -0.45),
    (1.33, -0.43),
    (0.53, 0.17),
    (0.82, 1.13),
    (0.0, 0.56),
    (-0.82, 1.13),
    (-0.53, 0.17),
    (-1.33, -0.43),
    (-0.33, -0.45),
];

/// On and off lengths; none: a solid line.
const DASHES: [&[u32]; 4] = [&[], &[7, 3], &[2, 2], &[8, 3, 2, 3]];

/// How a scheme looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SchemeStyle {
    /// `None`: the colour of the text, which is the limit's.
    pub(crate) colour: Option<(u8, u8, u8)>,
    /// Corners in units of the marker's radius; none: a circle.
    pub(crate) marker: &'static [(f64, f64)],
    pub(crate) dash: &'static [u32],
}

impl SchemeStyle {
    /// The style of the `index`-th scheme under the `variation`-th of the varied conditions.
    pub(crate) fn new(scheme: &str, index: usize, variation: usize) -> Self {
        let shape = index + variation;
        if scheme == LIMIT {
            return Self { colour: None, marker: STAR, dash: DASHES[2] };
        }
        Self {
            colour: Some(COLOURS[index % COLOURS.len()]),
            marker: MARKERS[shape % MARKERS.len()],
            dash: DASHES[shape % DASHES.len()],
        }
    }

    /// The marker as an SVG path round (0, 0) with radius 10.
    fn marker_path(&self) -> String {
        if self.marker.is_empty() {
            return "M-10 0a10 10 0 1 0 20 0a10 10 0 1 0-20 0z".into();
        }
        let corners: Vec<String> = self
            .marker
            .iter()
            .map(|(x, y)| format!("{} {}", (x * 10.0).round(), (y * 10.0).round()))
            .collect();
        format!("M{}z", corners.join("L"))
    }

    /// For the report's script.
    pub(crate) fn to_json(self) -> StyleJson {
        StyleJson {
            colour: self.colour.map(|(r, g, b)| format!("#{r:02x}{g:02x}{b:02x}")),
            marker: self.marker_path(),
            dash: self.dash,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct StyleJson {
    colour: Option<String>,
    marker: String,
    dash: &'static [u32],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_schemes_look_different() {
        let styles: Vec<_> = (0..60).map(|index| SchemeStyle::new("x", index, 0)).collect();
        for (index, style) in styles.iter().enumerate() {
            assert!(!styles[..index].contains(style), "{index}");
        }
    }

    #[test]
    fn the_variations_of_a_scheme_share_its_colour_and_differ_in_shape() {
        let styles: Vec<_> = (0..20).map(|variation| SchemeStyle::new("x", 3, variation)).collect();
        for (index, style) in styles.iter().enumerate() {
            assert!(!styles[..index].contains(style) && style.colour == styles[0].colour, "{index}");
        }
    }
}

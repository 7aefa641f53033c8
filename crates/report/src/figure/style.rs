//! How a scheme looks: colour, marker and dash together, so that no meaning is in the colour alone.

use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The colours of Okabe and Ito ("Color Universal Design", 2008) that are strong enough for lines on white and on
/// black, and four more, chosen so that no two look alike to colour-blind readers: a search over the colours that are as strong for
/// the largest least distance, as the tests measure it. Okabe and Ito's black is the limit's, their yellow is too pale for lines.
const COLOURS: [(u8, u8, u8); 10] = [
    (0x00, 0x72, 0xb2),
    (0xd5, 0x5e, 0x00),
    (0x00, 0x9e, 0x73),
    (0xcc, 0x79, 0xa7),
    (0xe6, 0x9f, 0x00),
    (0x56, 0xb4, 0xe9),
    (0x96, 0x78, 0xff),
    (0x78, 0x5a, 0x3c),
    (0xb4, 0x2d, 0x87),
    (0x87, 0x00, 0xff),
];

/// It is as strong on white as on black.
const GREY: (u8, u8, u8) = (0x8c, 0x94, 0x9c);

/// Corners of the markers, in units of their radius, y downwards; a circle has none. The last one, a star, is the reference's.
/// Five shapes and four dashes: twenty lines of one colour look different.
const MARKERS: [&[(f64, f64)]; 6] = [
    &[],
    &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    &[(0.0, -1.1), (1.1, 0.8), (-1.1, 0.8)],
    &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
    &[(0.0, 1.1), (-1.1, -0.8), (1.1, -0.8)],
    &[
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
    ],
];
const STAR: usize = MARKERS.len() - 1;
/// Varied conditions with marks of their own.
pub(crate) const MARKS: usize = STAR;

/// On and off lengths of lines; none: a solid one.
pub(crate) const DASHES: [&[u32]; 4] = [&[], &[7, 3], &[2, 2], &[8, 3, 2, 3]];

/// How a scheme looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Style {
    #[serde(serialize_with = "hexadecimal")]
    colour: Option<(u8, u8, u8)>,
    marker: usize,
    dash: usize,
}

impl Style {
    /// The first, the second and so on: ten colours, and then the same ones with other marks.
    pub fn nth(index: usize) -> Self {
        Self::of(index, index)
    }

    /// The style of the reference: a star in the colour of the text.
    pub const fn reference() -> Self {
        Self { colour: None, marker: STAR, dash: 2 }
    }

    /// The colour with the reference's star: the paper's value for it.
    #[must_use]
    pub const fn starred(self) -> Self {
        Self { marker: STAR, ..self }
    }

    /// A line of this colour, red, green and blue.
    pub const fn coloured(colour: (u8, u8, u8)) -> Self {
        Self { colour: Some(colour), marker: 0, dash: 0 }
    }

    fn of(colour: usize, shape: usize) -> Self {
        Self {
            colour: Some(COLOURS[colour % COLOURS.len()]),
            marker: shape % STAR,
            dash: shape % DASHES.len(),
        }
    }

    /// The colour of one of `lines` with the marks of one of several varied conditions; those of the line count where several lines
    /// share a colour. A single condition and the reference keep the line's style.
    pub(crate) fn varied(self, variation: usize, variations: usize, lines: usize) -> Self {
        if self.is_reference() || variations < 2 {
            return self;
        }
        let (marker, dash) = if is_many(lines) { (self.marker, self.dash) } else { (0, 0) };
        Self { marker: (marker + variation) % STAR, dash: (dash + variation) % DASHES.len(), ..self }
    }

    /// True for the style of the reference.
    pub(crate) fn is_reference(self) -> bool {
        self.marker == STAR
    }

    /// The marks in grey: a point of other results.
    pub(crate) fn grey(self) -> Self {
        Self { colour: Some(GREY), ..self }
    }

    /// The marks of the `variation`-th condition, in the colour of the text.
    pub(crate) fn of_variation(variation: usize) -> Self {
        Self { colour: None, ..Self::of(0, 0) }.varied(variation, 2, 1)
    }

    /// Red, green and blue; `None`: that of the text.
    pub(crate) fn colour(&self) -> Option<(u8, u8, u8)> {
        self.colour
    }

    /// Corners in units of the marker's radius; none: a circle.
    pub(crate) fn corners(&self) -> &'static [(f64, f64)] {
        MARKERS[self.marker]
    }
}

/// True where not every line has a colour of its own.
pub(crate) fn is_many(lines: usize) -> bool {
    lines > COLOURS.len()
}

/// The styles of lines, by the family of each, `None` for the reference: up to ten lines differ in colour; of more, the lines
/// of a family share one. Lines of one colour differ in their marks.
pub(crate) fn styles<'a>(families: &[Option<&'a str>]) -> Vec<Style> {
    let is_many = is_many(families.iter().flatten().count());
    let (mut colours, mut uses) = (BTreeMap::new(), [0; COLOURS.len()]);
    let style = |(at, family): (usize, &Option<&'a str>)| {
        let Some(family) = family else { return Style::reference() };
        if !is_many {
            return Style::nth(at);
        }
        let count = colours.len();
        let colour = *colours.entry(*family).or_insert(count) % COLOURS.len();
        uses[colour] += 1;
        Style::of(colour, colour + uses[colour] - 1)
    };
    families.iter().enumerate().map(style).collect()
}

/// The markers as SVG paths round (0, 0) with radius 10.
pub(crate) fn markers() -> Vec<String> {
    let path = |corners: &&[(f64, f64)]| {
        let corners: Vec<String> =
            corners.iter().map(|(x, y)| format!("{} {}", (x * 10.0).round(), (y * 10.0).round())).collect();
        match corners[..] {
            [] => "M-10 0a10 10 0 1 0 20 0a10 10 0 1 0-20 0z".into(),
            _ => format!("M{}z", corners.join("L")),
        }
    };
    MARKERS.iter().map(path).collect()
}

#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn hexadecimal<S: Serializer>(colour: &Option<(u8, u8, u8)>, serializer: S) -> Result<S::Ok, S::Error> {
    colour.map(|(r, g, b)| format!("#{r:02x}{g:02x}{b:02x}")).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_differ(styles: &[Style]) -> bool {
        styles.iter().enumerate().all(|(at, style)| !styles[..at].contains(style))
    }

    #[test]
    fn sixty_schemes_look_different() {
        let names: Vec<String> = (0..60).map(|index| format!("scheme{index}")).collect();
        let families: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
        assert!(all_differ(&styles(&families)));
    }

    /// Twenty schemes had few colours in the order of their names, so that a colour meant nothing.
    #[test]
    fn of_many_lines_those_of_a_family_share_a_colour() {
        let families = [
            "reminis", "reminis", "cubic", "bbr", "reminis", "verus", "verus", "reminis", "tide", "tide",
            "tide",
        ];
        let styles = styles(&families.map(Some));
        assert!(all_differ(&styles));
        assert_eq!((styles[0].colour, styles[5].colour), (styles[7].colour, styles[6].colour));
        assert_ne!(styles[2].colour, styles[3].colour);
    }

    /// The quick start's seven schemes had six colours: the first and the last shared theirs.
    #[test]
    fn ten_schemes_have_ten_colours_that_everybody_tells_apart() {
        let linear = |(red, green, blue): (u8, u8, u8)| {
            [red, green, blue].map(|part| match f64::from(part) / 255.0 {
                part if part <= 0.04045 => part / 12.92,
                part => libm::pow((part + 0.055) / 1.055, 2.4),
            })
        };
        let times = |matrix: [[f64; 3]; 3], colour: [f64; 3]| {
            matrix.map(|row| row.iter().zip(colour).map(|(one, other)| one * other).sum::<f64>())
        };
        // All colours, and without red, green or blue cones (Machado and others, IEEE TVCG 15(6), 2009, severity 1).
        let views = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ];
        // OKLab (Ottosson, 2020): equal distances look alike.
        let oklab = |colour: [f64; 3]| {
            let cones = times(
                [
                    [0.4122214708, 0.5363325363, 0.0514459929],
                    [0.2119034982, 0.6806995451, 0.1073969566],
                    [0.0883024619, 0.2817188376, 0.6299787005],
                ],
                colour.map(|part| part.clamp(0.0, 1.0)),
            );
            times(
                [
                    [0.2104542553, 0.7936177850, -0.0040720468],
                    [1.9779984951, -2.4285922050, 0.4505937099],
                    [0.0259040371, 0.7827717662, -0.8086757660],
                ],
                cones.map(libm::cbrt),
            )
        };
        let luminance = |colour| times([[0.2126, 0.7152, 0.0722]; 3], linear(colour))[0] + 0.05;
        let (white, dark) = (luminance((255, 255, 255)), luminance((0x15, 0x18, 0x1b)));
        for (at, colour) in COLOURS.into_iter().enumerate() {
            assert_eq!(Style::nth(at).colour, Some(colour));
            // WCAG's contrast. Okabe and Ito's orange, the palest, has 2.2 on white.
            let contrasts = [white / luminance(colour), luminance(colour) / dark];
            assert!(contrasts.iter().all(|contrast| *contrast >= 2.2), "{colour:02x?}: {contrasts:?}");
            for other in &COLOURS[..at] {
                for view in views {
                    let [one, other] = [colour, *other].map(|colour| oklab(times(view, linear(colour))));
                    let apart = libm::sqrt(
                        (0..3).map(|axis| (one[axis] - other[axis]) * (one[axis] - other[axis])).sum(),
                    );
                    // Okabe and Ito's green and purple, without red cones, are 0.076 apart.
                    assert!(apart >= 0.076, "{colour:02x?} {other:?}: {apart}");
                }
            }
        }
    }

    #[test]
    fn few_lines_differ_in_colour_and_the_reference_has_that_of_the_text() {
        let styles = styles(&[Some("reminis"), Some("reminis"), None]);
        assert_ne!(styles[0].colour, styles[1].colour);
        assert_eq!(styles[2].colour, None);
    }

    #[test]
    fn the_variations_of_a_scheme_share_its_colour_and_differ_in_shape() {
        let styles: Vec<_> = (0..20).map(|variation| Style::nth(3).varied(variation, 20, 7)).collect();
        assert!(all_differ(&styles) && styles.iter().all(|style| style.colour == styles[0].colour));
    }

    /// The mark of a scheme under one condition was that of another scheme under the next one.
    #[test]
    fn a_mark_is_a_variation_where_a_colour_is_a_scheme() {
        let marks = |scheme: usize, lines| Style::nth(scheme).varied(2, 3, lines).corners();
        assert_eq!(marks(0, 7), marks(3, 7));
        assert_ne!(marks(0, 12), marks(3, 12), "schemes that share a colour keep their marks");
        assert_eq!(Style::nth(3).varied(0, 1, 7), Style::nth(3));
    }
}

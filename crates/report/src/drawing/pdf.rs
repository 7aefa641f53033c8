//! A figure as PDF, for LaTeX: the lines and areas of its SVG, and its letters as text, in the part of the font that they need.

use crate::ReportError;
use crate::drawing::png::tree;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use resvg::tiny_skia::{PathSegment, Transform};
use resvg::usvg::{Group, Node, Paint, Path, Text, fontdb};
use sha2::{Digest, Sha256};
use skrifa::instance::{LocationRef, Size};
use skrifa::raw::types::{GlyphId, Tag};
use skrifa::{FontRef, MetadataProvider};
use std::collections::BTreeMap;
use std::io::Write as _;
use subsetter::GlyphRemapper;

/// SVG's unit is 1/96 inch, PDF's 1/72.
const POINTS_PER_UNIT: f32 = 0.75;
/// PDF counts the widths of letters in thousandths of their size.
const PER_EM: f32 = 1000.0;
/// The letters' numbers are those of the part of the font that the file has.
const IDENTITY: SystemInfo =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const ABOUT: Ref = Ref::new(5);
/// Number of the first font; each takes five numbers.
const FIRST_FONT: i32 = 6;

/// The figure of this SVG, with its title and its maker in the metadata.
pub(crate) fn pdf(
    svg: &str,
    font: Option<&[u8]>,
    [title, made_by]: [&str; 2],
) -> Result<Vec<u8>, ReportError> {
    let tree = tree(svg, font)?;
    let [width, height] = [tree.size().width(), tree.size().height()].map(|units| units * POINTS_PER_UNIT);
    let mut page = Page { content: Content::new(), fonts: Vec::new(), database: tree.fontdb() };
    // PDF counts upwards.
    page.content.transform([POINTS_PER_UNIT, 0.0, 0.0, -POINTS_PER_UNIT, 0.0, height]);
    page.draw(tree.root())?;

    let mut pdf = Pdf::new();
    // pdfLaTeX takes this version without a warning.
    pdf.set_version(1, 5);
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    pdf.document_info(ABOUT).title(TextStr(title)).creator(TextStr(made_by));
    let mut only = pdf.page(PAGE);
    only.media_box(Rect::new(0.0, 0.0, width, height)).parent(PAGES).contents(CONTENT);
    let mut resources = only.resources();
    let mut names = resources.fonts();
    for (number, font) in page.fonts.iter().enumerate() {
        names.pair(Name(font.name.as_bytes()), references(number)[0]);
    }
    names.finish();
    resources.finish();
    only.finish();
    pdf.stream(CONTENT, &deflated(&page.content.finish())).filter(Filter::FlateDecode);
    for (number, font) in page.fonts.iter().enumerate() {
        font.write(&mut pdf, references(number))?;
    }
    Ok(pdf.finish())
}

/// A font's parts: the font, its letters, their measures, their outlines, and their meanings.
fn references(font: usize) -> [Ref; 5] {
    [0, 1, 2, 3, 4].map(|part| Ref::new(FIRST_FONT + 5 * font as i32 + part))
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes every byte")
}

/// The page so far.
struct Page<'a> {
    content: Content,
    fonts: Vec<Font>,
    database: &'a fontdb::Database,
}

/// A font, and its used part.
struct Font {
    id: fontdb::ID,
    /// Its name on the page.
    name: String,
    /// That of its file.
    post_script: String,
    data: Vec<u8>,
    index: u32,
    units_per_em: f32,
    used: GlyphRemapper,
    /// By its new number, each letter's old one and its text.
    letters: BTreeMap<u16, (u16, String)>,
}

impl Page<'_> {
    fn draw(&mut self, group: &Group) -> Result<(), ReportError> {
        for node in group.children() {
            match node {
                Node::Group(group) => self.draw(group)?,
                Node::Path(path) if path.is_visible() => self.path(path),
                Node::Text(text) => self.text(text)?,
                Node::Path(_) | Node::Image(_) => {}
            }
        }
        Ok(())
    }

    fn path(&mut self, path: &Path) {
        let fill = path.fill().and_then(|fill| rgb(fill.paint()));
        let stroke = path.stroke().and_then(|stroke| Some((rgb(stroke.paint())?, stroke.width().get())));
        let content = self.content.save_state().transform(matrix(path.abs_transform()));
        if let Some([red, green, blue]) = fill {
            content.set_fill_rgb(red, green, blue);
        }
        if let Some(([red, green, blue], width)) = stroke {
            content.set_stroke_rgb(red, green, blue).set_line_width(width);
        }
        for segment in path.data().segments() {
            match segment {
                PathSegment::MoveTo(to) => content.move_to(to.x, to.y),
                PathSegment::LineTo(to) => content.line_to(to.x, to.y),
                // Figures have none; its corner stands for both inner points.
                PathSegment::QuadTo(by, to) => content.cubic_to(by.x, by.y, by.x, by.y, to.x, to.y),
                PathSegment::CubicTo(one, two, to) => {
                    content.cubic_to(one.x, one.y, two.x, two.y, to.x, to.y)
                }
                PathSegment::Close => content.close_path(),
            };
        }
        match (fill, stroke) {
            (Some(_), Some(_)) => content.fill_nonzero_and_stroke(),
            (Some(_), None) => content.fill_nonzero(),
            (None, Some(_)) => content.stroke(),
            (None, None) => content.end_path(),
        };
        content.restore_state();
    }

    fn text(&mut self, text: &Text) -> Result<(), ReportError> {
        for span in text.layouted().iter().filter(|span| span.visible) {
            let Some([red, green, blue]) = span.fill.as_ref().and_then(|fill| rgb(fill.paint())) else {
                continue;
            };
            self.content.set_fill_rgb(red, green, blue).begin_text();
            for glyph in &span.positioned_glyphs {
                let place = text.abs_transform().pre_concat(glyph.outline_transform());
                let at = self.font(glyph.font)?;
                let font = &mut self.fonts[at];
                let old = u16::try_from(glyph.id.0).map_err(|_| ReportError::Font)?;
                let new = font.used.remap(old);
                font.letters.entry(new).or_insert_with(|| (old, glyph.text.clone()));
                self.content
                    .set_font(Name(font.name.as_bytes()), 1.0)
                    .set_text_matrix(matrix(place.pre_scale(font.units_per_em, font.units_per_em)))
                    .show(Str(&new.to_be_bytes()));
            }
            self.content.end_text();
        }
        Ok(())
    }

    /// The place of a font among those of the page.
    fn font(&mut self, id: fontdb::ID) -> Result<usize, ReportError> {
        if let Some(known) = self.fonts.iter().position(|font| font.id == id) {
            return Ok(known);
        }
        let content = self.database.with_face_data(id, |data, index| (data.to_vec(), index));
        let (face, (data, index)) = self.database.face(id).zip(content).ok_or(ReportError::Font)?;
        let metrics = read(&data, index)?.metrics(Size::unscaled(), LocationRef::default());
        self.fonts.push(Font {
            id,
            name: format!("F{}", self.fonts.len()),
            post_script: face.post_script_name.clone(),
            data,
            index,
            units_per_em: f32::from(metrics.units_per_em),
            used: GlyphRemapper::new(),
            letters: BTreeMap::new(),
        });
        Ok(self.fonts.len() - 1)
    }
}

fn read(data: &[u8], index: u32) -> Result<FontRef<'_>, ReportError> {
    FontRef::from_index(data, index).map_err(|_| ReportError::Font)
}

impl Font {
    fn write(
        &self,
        pdf: &mut Pdf,
        [font, letters, measures, outlines, meaning]: [Ref; 5],
    ) -> Result<(), ReportError> {
        let face = read(&self.data, self.index)?;
        let metrics = face.metrics(Size::unscaled(), LocationRef::default());
        let widths = face.glyph_metrics(Size::unscaled(), LocationRef::default());
        let scaled = |units: f32| units * PER_EM / self.units_per_em;
        let subset = subsetter::subset(&self.data, self.index, &self.used).map_err(|_| ReportError::Font)?;
        let compact = FontRef::new(&subset).ok().and_then(|subset| subset.table_data(Tag::new(b"CFF ")));
        // Six letters tell the parts of one font in several files apart.
        let tag: String =
            Sha256::digest(&subset).iter().take(6).map(|byte| char::from(b'A' + byte % 26)).collect();
        let name = format!("{tag}+{}", self.post_script);
        let name = Name(name.as_bytes());

        pdf.type0_font(font)
            .base_font(name)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(letters)
            .to_unicode(meaning);
        let mut cid = pdf.cid_font(letters);
        cid.base_font(name).system_info(IDENTITY).font_descriptor(measures);
        if compact.is_some() {
            cid.subtype(CidFontType::Type0);
        } else {
            cid.subtype(CidFontType::Type2).cid_to_gid_map_predefined(Name(b"Identity"));
        }
        let mut all = cid.widths();
        for (new, (old, _)) in &self.letters {
            let width = widths.advance_width(GlyphId::from(u32::from(*old))).unwrap_or(0.0);
            all.same(*new, *new, scaled(width));
        }
        all.finish();
        cid.finish();
        let bounds = metrics.bounds.unwrap_or_default();
        let [left, bottom, right, top] = [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(scaled);
        let mut descriptor = pdf.font_descriptor(measures);
        descriptor
            .name(name)
            .flags(FontFlags::SYMBOLIC)
            .bbox(Rect::new(left, bottom, right, top))
            .italic_angle(metrics.italic_angle)
            .ascent(scaled(metrics.ascent))
            .descent(scaled(metrics.descent))
            .cap_height(scaled(metrics.cap_height.unwrap_or(metrics.ascent)))
            // Unknown; the standard wants a number.
            .stem_v(0.0);
        if compact.is_some() {
            descriptor.font_file3(outlines);
        } else {
            descriptor.font_file2(outlines);
        }
        descriptor.finish();
        let content = deflated(compact.as_ref().map_or(&subset, |table| table.as_bytes()));
        let mut stream = pdf.stream(outlines, &content);
        stream.filter(Filter::FlateDecode);
        if compact.is_some() {
            stream.pair(Name(b"Subtype"), Name(b"CIDFontType0C"));
        }
        stream.finish();
        let mut meanings = UnicodeCmap::new(Name(b"Letters"), IDENTITY);
        for (new, (_, text)) in &self.letters {
            meanings.pair_with_multiple(*new, text.chars());
        }
        pdf.cmap(meaning, &meanings.finish());
        Ok(())
    }
}

/// Figures have plain colours only.
fn rgb(paint: &Paint) -> Option<[f32; 3]> {
    let Paint::Color(colour) = paint else { return None };
    Some([colour.red, colour.green, colour.blue].map(|part| f32::from(part) / 255.0))
}

fn matrix(transform: Transform) -> [f32; 6] {
    let Transform { sx, ky, kx, sy, tx, ty } = transform;
    [sx, ky, kx, sy, tx, ty]
}

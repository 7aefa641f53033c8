//! Detection of a trace's kind of file: compression by content, format by name and then by content.

use super::{Format, MAX_TEXT_BYTES, Problem, data_lines, shown};
use std::borrow::Cow;
use std::io::Read;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b]; // RFC 1952, section 2.3.1
const XZ_MAGIC: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0]; // .xz file format 1.2, section 2.1.1.1

/// The content, unpacked where it is compressed.
pub(crate) fn decompress(content: &[u8]) -> Result<Cow<'_, [u8]>, Problem> {
    if content.starts_with(GZIP_MAGIC) {
        unpack("gzip", flate2::read::MultiGzDecoder::new(content)).map(Cow::Owned)
    } else if content.starts_with(XZ_MAGIC) {
        unpack("xz", liblzma::read::XzDecoder::new_multi_decoder(content)).map(Cow::Owned)
    } else if content.len() as u64 > MAX_TEXT_BYTES {
        Err(Problem::TooLarge)
    } else {
        Ok(Cow::Borrowed(content))
    }
}

fn unpack(kind: &'static str, reader: impl Read) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    // A few kilobytes can unpack to terabytes: stop one byte beyond the limit.
    let read = reader.take(MAX_TEXT_BYTES + 1).read_to_end(&mut text);
    read.map_err(|cause| Problem::Damaged { kind, cause })?;
    if text.len() as u64 > MAX_TEXT_BYTES { Err(Problem::TooLarge) } else { Ok(text) }
}

/// The content as text, without a byte-order mark.
pub(crate) fn text(content: &[u8]) -> Result<&str, Problem> {
    let text = std::str::from_utf8(content).map_err(|_| Problem::Binary)?;
    if text.contains('\0') {
        return Err(Problem::Binary);
    }
    Ok(text.trim_start_matches('\u{feff}'))
}

/// The file name without its folder and its compression.
pub(super) fn stem(name: &str) -> &str {
    let name = name.rsplit(['/', std::path::MAIN_SEPARATOR]).next().unwrap_or(name);
    name.strip_suffix(".gz").or_else(|| name.strip_suffix(".xz")).unwrap_or(name)
}

/// The format of `text` in a file called `stem`, and the number of its first line of data.
pub(super) fn format(stem: &str, text: &str) -> Result<(Format, u64), Problem> {
    let (line, first) = data_lines(text).next().ok_or(Problem::Empty)?;
    let format = match stem.rsplit_once('.').map(|(_, ending)| ending) {
        Some("mahi" | "up" | "down") => Format::Mahimahi,
        Some("mbps") => Format::Rate,
        Some("csv") => Format::Csv,
        _ => by_content(first)?,
    };
    Ok((format, line))
}

fn by_content(first: &str) -> Result<Format, Problem> {
    let is_number = |field: &str| field.parse::<f64>().is_ok();
    if first.contains(',') && first.split(',').any(|field| !is_number(field.trim())) {
        return Ok(Format::Csv);
    }
    match first.split_whitespace().collect::<Vec<_>>()[..] {
        [field] if is_number(field) => Ok(Format::Mahimahi),
        [time, rate] if is_number(time) && is_number(rate) => Ok(Format::Rate),
        _ => Err(Problem::UnknownFormat(shown(first))),
    }
}

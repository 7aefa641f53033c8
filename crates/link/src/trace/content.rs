//! The bytes of a file as text: compression is recognised by content.

use super::{MAX_TEXT_BYTES, Problem};
use std::borrow::Cow;
use std::io::Read;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b]; // RFC 1952, section 2.3.1
const XZ_MAGIC: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0]; // .xz file format 1.2, section 2.1.1.1

/// The content, unpacked where it is compressed.
pub(super) fn decompress(content: &[u8]) -> Result<Cow<'_, [u8]>, Problem> {
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
pub(super) fn text(content: &[u8]) -> Result<&str, Problem> {
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

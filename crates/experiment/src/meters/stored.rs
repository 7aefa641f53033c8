//! HdrHistogram's own compressed form of counts by level, which Records hold. The library writes it from an array of all levels
//! there are, and with a compressor of a third of a megabyte for each: a run of a thousand flows has two thousand of these.

use crate::meters::levels::{LEVELS_A_DOUBLING, Levels};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{DeserializeError, Deserializer};
use std::cell::RefCell;
use std::io::{self, Write};

/// `V2_COOKIE` and `V2_COMPRESSED_COOKIE` of HdrHistogram, which each form begins with.
const PLAIN: u32 = 0x1c84_9313;
const COMPRESSED: u32 = 0x1c84_9314;
const SIGNIFICANT_DIGITS: u32 = 3;

thread_local! {
    /// Emptied after each use.
    static COMPRESSOR: RefCell<ZlibEncoder<Vec<u8>>> =
        RefCell::new(ZlibEncoder::new(Vec::new(), Compression::default()));
}

/// The bytes that HdrHistogram would write.
///
/// # Errors
/// A level that occurred more than `i64::MAX` times, which the form cannot say.
pub(crate) fn encode(levels: &Levels) -> io::Result<Vec<u8>> {
    let mut counts = Vec::new();
    let mut next = 0;
    for (level, count) in levels.counts() {
        push_zeros(level - next, &mut counts);
        let count = i64::try_from(count).map_err(|_| io::Error::other("a count above i64::MAX"))?;
        push(count, &mut counts);
        next = level + 1;
    }
    if counts.is_empty() {
        push(0, &mut counts);
    }
    let mut plain = Vec::with_capacity(40 + counts.len());
    for field in [PLAIN, counts.len() as u32, 0, SIGNIFICANT_DIGITS] {
        plain.extend(field.to_be_bytes());
    }
    for field in [1, highest(next), 1.0_f64.to_bits()] {
        plain.extend(field.to_be_bytes());
    }
    plain.extend(counts);
    let compressed = COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.write_all(&plain)?;
        compressor.reset(Vec::new())
    })?;
    Ok([&COMPRESSED.to_be_bytes(), &(compressed.len() as u32).to_be_bytes(), compressed.as_slice()].concat())
}

/// The highest value that HdrHistogram says it could take: 2 at first; it grows to whole doublings when a value is beyond its
/// levels. `levels`: one more than the highest.
fn highest(levels: usize) -> u64 {
    let first = 2 * LEVELS_A_DOUBLING;
    let doublings = (levels as u64).saturating_sub(first).div_ceil(LEVELS_A_DOUBLING);
    if doublings == 0 { 2 } else { (first << doublings) - 1 }
}

/// Appends `count` levels without a value.
fn push_zeros(count: usize, bytes: &mut Vec<u8>) {
    match count {
        0 => {}
        1 => push(0, bytes),
        _ => push(-(count as i64), bytes),
    }
}

/// A number as HdrHistogram writes it: the sign last, seven bits a byte, and a ninth byte whole.
fn push(number: i64, bytes: &mut Vec<u8>) {
    let mut left = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 0..8 {
        if left < 0x80 {
            break;
        }
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
}

/// Reads the output of [`encode`]. Values above `most` count as `most`.
///
/// # Errors
/// Other bytes.
pub(crate) fn decode(mut bytes: &[u8], most: u64) -> Result<Levels, DeserializeError> {
    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes)?;
    let mut levels = Levels::default();
    for level in histogram.iter_recorded() {
        levels.count_many(level.value_iterated_to().min(most), level.count_at_value());
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
    use proptest::prelude::*;

    fn by_the_library(counts: &[(u64, u64)]) -> Vec<u8> {
        let mut histogram = Histogram::<u64>::new(3).expect("three digits");
        counts.iter().for_each(|(value, count)| histogram.record_n(*value, *count).expect("it grows"));
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes).expect("small counts");
        bytes
    }

    fn levels(counts: &[(u64, u64)]) -> Levels {
        let mut levels = Levels::default();
        counts.iter().for_each(|(value, count)| levels.count_many(*value, *count));
        levels
    }

    #[test]
    fn edges_are_stored_as_the_library_stores_them() {
        for value in
            [0, 1, 2, 1_023, 1_024, 2_047, 2_048, 2_049, 4_095, 4_096, 131_071, 131_072, 3_600_000_000]
        {
            let counts = [(value, 3)];
            assert_eq!(encode(&levels(&counts)).expect("few"), by_the_library(&counts), "{value}");
        }
        assert_eq!(encode(&Levels::default()).expect("none"), by_the_library(&[]));
        assert!(encode(&levels(&[(5, u64::MAX)])).is_err());
    }

    proptest! {
        #[test]
        fn counts_are_stored_as_the_library_stores_them_and_read_back(
            counts in proptest::collection::vec((0u64..34, any::<u64>(), 1u64..1 << 40), 0..300),
        ) {
            let counts: Vec<_> =
                counts.into_iter().map(|(bits, value, count)| (value % (1 << bits), count)).collect();
            let (levels, bytes) = (levels(&counts), by_the_library(&counts));
            prop_assert_eq!(&encode(&levels).expect("few"), &bytes);
            prop_assert_eq!(decode(&bytes, u64::MAX >> 20).expect("its own"), levels);
        }
    }
}

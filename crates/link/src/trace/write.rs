//! Writing a capacity as a trace, for conversion.

use crate::capacity::Capacity;
use cellcc_units::{Span, Time};
use std::io::{self, Write};

const MILLI: Span = Span::from_millis(1);

/// Writes the first `length` of a capacity as a Mahimahi trace. Where a rate is continuous, opportunities are evenly
/// spaced, and the fraction is carried from millisecond to millisecond. Mahimahi's period is the time of the last
/// line: where no opportunity falls on it, one more is added, at most 1500 bytes too much.
///
/// # Errors
/// Of the writer.
pub fn mahimahi(capacity: &Capacity, length: Span, out: &mut impl Write) -> io::Result<()> {
    let size = Capacity::OPPORTUNITY.get();
    let millis = length.as_nanos().div_ceil(MILLI.as_nanos());
    let mut before = 0;
    for milli in 1..=millis {
        let carried = capacity.bytes_between(Time::ZERO, Time::ZERO + MILLI * milli).get() / size;
        let closing = u64::from(milli == millis && carried == before);
        for _ in before..carried + closing {
            writeln!(out, "{milli}")?;
        }
        before = carried;
    }
    Ok(())
}

/// Writes the first `length` of a capacity, rounded up to whole bins, as a rate trace: seconds and the mean Mbit/s of
/// each `bin`.
///
/// # Errors
/// Of the writer; [`io::ErrorKind::InvalidInput`] for a bin of zero.
pub fn rate(capacity: &Capacity, length: Span, bin: Span, out: &mut impl Write) -> io::Result<()> {
    bins(capacity, length, bin, |secs, mbit| writeln!(out, "{secs}\t{mbit}"))
}

/// Writes CSV with the columns `time_s` and `rate_mbit_s`.
///
/// # Errors
/// As [`rate`].
pub fn csv(capacity: &Capacity, length: Span, bin: Span, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "time_s,rate_mbit_s")?;
    bins(capacity, length, bin, |secs, mbit| writeln!(out, "{secs},{mbit}"))
}

fn bins(
    capacity: &Capacity,
    length: Span,
    bin: Span,
    mut line: impl FnMut(f64, f64) -> io::Result<()>,
) -> io::Result<()> {
    if bin.is_zero() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the width of a bin must be above zero"));
    }
    for index in 0..length.as_nanos().div_ceil(bin.as_nanos()) {
        let start = Time::ZERO + bin * index;
        line(start.as_secs_f64(), capacity.rate_in(start, start + bin).as_mbit_per_sec())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::trace::{Trace, parse};
    use crate::{Capacity, trace::write};
    use cellcc_units::{Rate, Span, Time};

    fn reread(name: &str, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Trace {
        let mut text = Vec::new();
        write(&mut text).unwrap();
        parse(name, &text).unwrap()
    }

    #[test]
    fn a_mahimahi_trace_survives_being_written_and_read() {
        let capacity = parse("a.mahi", b"0\n0\n3\n3\n10\n").unwrap();
        let written = reread("b.mahi", |out| write::mahimahi(&capacity.capacity, Span::from_millis(10), out));
        assert_eq!(written.hash, capacity.hash);
    }

    #[test]
    fn a_continuous_rate_becomes_evenly_spaced_opportunities() {
        let capacity = Capacity::constant(Rate::from_mbit_per_sec(5.0)).unwrap();
        let mut text = Vec::new();
        write::mahimahi(&capacity, Span::from_millis(24), &mut text).unwrap();
        // 1500 bytes at 5 Mbit/s take 2.4 ms.
        assert_eq!(String::from_utf8(text).unwrap(), "3\n5\n8\n10\n12\n15\n17\n20\n22\n24\n");
    }

    #[test]
    fn an_outage_at_the_end_keeps_its_length() {
        let capacity = parse("a.mbps", b"0 12\n1 0\n").unwrap().capacity;
        let written = reread("b.mahi", |out| write::mahimahi(&capacity, Span::from_secs(2), out)).capacity;
        assert_eq!(written.period(), Some(Span::from_secs(2)));
        let bytes =
            |capacity: &Capacity| capacity.bytes_between(Time::ZERO, Time::ZERO + Span::from_secs(2)).get();
        assert_eq!(bytes(&written) - bytes(&capacity), 1500);
    }

    #[test]
    fn a_rate_trace_survives_being_written_and_read_in_its_own_bins() {
        let read = parse("a.mbps", b"0 12.5\n0.5 0\n1.0 333.333\n").unwrap();
        let (length, bin) = (Span::from_millis(1500), Span::from_millis(500));
        let rate = reread("b.mbps", |out| write::rate(&read.capacity, length, bin, out));
        let csv = reread("b.csv", |out| write::csv(&read.capacity, length, bin, out));
        assert_eq!([rate.hash, csv.hash], [read.hash.clone(), read.hash]);
    }
}

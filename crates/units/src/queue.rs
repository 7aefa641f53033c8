//! How much a queue holds.

use crate::text::{split_number, text_form};
use crate::{Bytes, Span};

/// The limit of a drop-tail queue, written `"3200pkt"`, `"1.5MB"`, `"100ms"`, `"2bdp"` or `"unlimited"`.
///
/// A packet is admitted where the queue is within the limit with this packet in it. The packet in service counts
/// until its last byte has left. So "3200pkt" has its meaning of Mahimahi, whose settings papers quote: there a full-sized
/// packet stays in the queue until its delivery opportunity, and then leaves whole. (Mahimahi does not count the rest of a
/// packet that straddles two opportunities.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u64),
    /// At most this many bytes.
    Bytes(Bytes),
    /// No packet waits longer than this for the packets ahead of it. This is decided at admission, from the link's
    /// actual future capacity. A packet's own service is no part of its wait.
    Time(Span),
    /// At most so many thousandths of the path's bandwidth-delay product. Only who knows the path can say how many bytes
    /// that is: a queue that was not given them refuses nothing.
    Bdp(u64),
    /// Nothing is ever refused.
    Unlimited,
}

fn parse(text: &str) -> Option<QueueLimit> {
    let text = text.trim();
    if text == "unlimited" {
        return Some(QueueLimit::Unlimited);
    }
    if let Some((count, "pkt")) = split_number(text) {
        // A queue of a million million packets is a typing error.
        return (count.fract() == 0.0 && (1.0..1e12).contains(&count))
            .then_some(QueueLimit::Packets(count as u64));
    }
    if let Some((products, "bdp")) = split_number(text) {
        let thousandths = (products * 1e3).round();
        let is_exact = (products * 1e3 - thousandths).abs() < 1e-6;
        return (is_exact && (1.0..1e12).contains(&thousandths))
            .then_some(QueueLimit::Bdp(thousandths as u64));
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        return (!bytes.is_zero()).then_some(QueueLimit::Bytes(bytes));
    }
    text.parse::<Span>().ok().filter(|span| !span.is_zero()).map(QueueLimit::Time)
}

fn format(limit: QueueLimit) -> String {
    match limit {
        QueueLimit::Packets(count) => format!("{count}pkt"),
        QueueLimit::Bytes(bytes) => bytes.to_string(),
        QueueLimit::Time(span) => span.to_string(),
        QueueLimit::Bdp(thousandths) => format!("{}bdp", thousandths as f64 / 1e3),
        QueueLimit::Unlimited => "unlimited".into(),
    }
}

text_form!(
    QueueLimit,
    parse,
    format,
    "a queue limit above zero such as `3200pkt`, `1.5MB`, `100ms`, `2bdp` or `unlimited`"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_limit_reads_back() {
        for limit in [
            QueueLimit::Packets(3200),
            QueueLimit::Bytes(Bytes::new(1_500_000)),
            QueueLimit::Time(Span::from_millis(100)),
            QueueLimit::Bdp(2000),
            QueueLimit::Bdp(125),
            QueueLimit::Unlimited,
        ] {
            assert_eq!(limit.to_string().parse(), Ok(limit));
        }
    }

    #[test]
    fn a_queue_that_holds_nothing_is_refused() {
        for text in ["0pkt", "0B", "0ms", "1.5pkt", "0bdp", "0.0005bdp", "3200", "-1pkt"] {
            assert!(text.parse::<QueueLimit>().is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = text.parse::<QueueLimit>();
        }
    }
}

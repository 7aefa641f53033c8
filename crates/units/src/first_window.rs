//! The first window: the data that a flow may send before the first acknowledgement.

use crate::Bytes;
use crate::text::{split_number, text_form};

/// A flow's first window, written `"10pkt"` or `"15kB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstWindow {
    /// A count of full packets.
    Packets(u64),
    /// A number of bytes, as the link counts them.
    Bytes(Bytes),
}

/// More is a typing error: a window of TCP has 1 GiB at most (RFC 7323, section 2.3).
const MOST: u64 = 1 << 30;

impl FirstWindow {
    /// In bytes, with full packets of this size: one packet at least.
    pub fn of_packets(self, packet: Bytes) -> Bytes {
        match self {
            Self::Packets(count) => packet * count,
            Self::Bytes(bytes) => bytes.max(packet),
        }
    }
}

impl Default for FirstWindow {
    /// RFC 6928 and RFC 9002, section 7.2: ten packets.
    fn default() -> Self {
        Self::Packets(10)
    }
}

fn parse(text: &str) -> Option<FirstWindow> {
    let text = text.trim();
    if let Some((count, "pkt")) = split_number(text) {
        let is_sound = count.fract() == 0.0 && (1.0..=1e6).contains(&count);
        return is_sound.then_some(FirstWindow::Packets(count as u64));
    }
    let bytes = text.parse::<Bytes>().ok()?;
    (1..=MOST).contains(&bytes.get()).then_some(FirstWindow::Bytes(bytes))
}

fn format(window: FirstWindow) -> String {
    match window {
        FirstWindow::Packets(count) => format!("{count}pkt"),
        FirstWindow::Bytes(bytes) => bytes.to_string(),
    }
}

text_form!(
    FirstWindow,
    parse,
    format,
    "a first window such as `32pkt` or `48kB`, up to a million packets or 1 GB"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_window_reads_back_and_holds_a_packet() {
        let packet = Bytes::new(1500);
        for (text, bytes) in [("10pkt", 15_000), ("48kB", 48_000), ("100B", 1500)] {
            let window: FirstWindow = text.parse().unwrap();
            assert_eq!((window.to_string().parse(), window.of_packets(packet).get()), (Ok(window), bytes));
        }
        for text in ["0pkt", "1.5pkt", "0B", "32", "2GB", "-1pkt", "1e7pkt"] {
            assert!(text.parse::<FirstWindow>().is_err(), "{text}");
        }
    }
}

//! How long a packet takes.

use cellcc_units::{Bytes, Rate, Span};

/// How long a packet takes at a rate, and, while that rate is zero, how long it took before: as in the NATCP authors'
/// feedback files.
#[derive(Debug, Clone, Copy, Default)]
pub struct PacketTime(Span);

impl PacketTime {
    /// The time at `rate`; zero before the first rate above zero.
    pub fn at(&mut self, rate: Rate, packet: Bytes) -> Span {
        if !rate.is_zero() {
            self.0 = rate.time_for(packet);
        }
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_packet_is_held_while_nothing_moves() {
        let mut time = PacketTime::default();
        assert_eq!(time.at(Rate::ZERO, Bytes::new(1500)), Span::ZERO);
        assert_eq!(time.at(Rate::from_mbit_per_sec(12.0), Bytes::new(1500)), Span::from_millis(1));
        assert_eq!(time.at(Rate::ZERO, Bytes::new(1500)), Span::from_millis(1));
    }
}

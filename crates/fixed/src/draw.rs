//! Random steps, identical in the kernel and on the host, to compare the decisions of both.

use crate::path::AckEvent;
use crate::{Packets, Window};

/// A generator of words: xorshift64 (Marsaglia 2003, shifts 13, 7, 17). C sees its one word.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Draw(pub u64);

impl Draw {
    /// A uniform word.
    #[inline(always)]
    pub fn word(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    /// A word below 2^`bits`, for 1 to 32 bits.
    #[inline(always)]
    pub fn bits(&mut self, bits: u32) -> u32 {
        self.word() >> ((32 - bits) & 31)
    }

    /// True one time in 2^`bits`.
    #[inline(always)]
    pub fn rarely(&mut self, bits: u32) -> bool {
        self.bits(bits) == 0
    }

    /// The acknowledgement after `last` on a path whose RTT is mostly 16 to 82 ms, and sometimes arbitrary.
    #[inline(always)]
    pub fn acknowledge(&mut self, last: &AckEvent) -> AckEvent {
        let usual = 16_000 + self.bits(16);
        let rtt_us = if self.rarely(6) { self.word() } else { usual };
        let passed_us = if self.rarely(10) { self.word() } else { self.bits(12) };
        let delivered = last.delivered.wrapping_add(1 + self.bits(3));
        AckEvent {
            now_us: last.now_us.wrapping_add(passed_us as u64),
            rtt_us: if self.rarely(5) { 0 } else { rtt_us },
            delivered,
            delivered_at_send: delivered.wrapping_sub(self.bits(6)),
            cwnd_limited: self.bits(1),
            lost: self.rarely(7) as u32,
            random: self.word(),
        }
    }

    /// Replaces the window one time in 256, as a law or a loss would.
    #[inline(always)]
    pub fn window(&mut self, window: &mut Window) {
        if self.rarely(8) {
            let bits = 1 + self.bits(5);
            *window = Window { cwnd: Packets(self.bits(bits)), ssthresh: Packets(self.word() >> 1) };
        }
    }
}

/// A hash of all decisions so far.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Digest(pub u64);

impl Digest {
    /// Adds a value: FNV-1a by words (Fowler, Noll and Vo; their 64-bit prime).
    #[inline(always)]
    pub fn add(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }
}

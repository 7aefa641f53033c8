//! Memory for the packets in flight: blocks that are filled from front to back and used again once all of their packets
//! are gone. Nothing is allocated per packet.

/// A packet's slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    block: u32,
    start: u32,
    length: u32,
}

/// Blocks of packets.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    blocks: Vec<Block>,
    /// Blocks without packets.
    free: Vec<u32>,
    /// The block that is being filled.
    current: Option<u32>,
}

#[derive(Debug)]
struct Block {
    bytes: Box<[u8]>,
    filled: usize,
    /// Segments that are still needed.
    segments: usize,
}

const BLOCK: usize = 1 << 20;

/// The longest packet that a device hands over, with the header before it: 65535 bytes of IP, and the kernel's own
/// larger ones are not asked for.
pub(crate) const MAX_PACKET: usize = (1 << 16) + 64;

impl Arena {
    /// Room for one packet of any size.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let is_full = |block: &Block| BLOCK - block.filled < MAX_PACKET;
        if let Some(current) = self.current
            && is_full(&self.blocks[current as usize])
        {
            self.current = None;
            self.recycle(current);
        }
        let current = match self.current {
            Some(current) => current,
            None => self.next_block(),
        };
        self.current = Some(current);
        let block = &mut self.blocks[current as usize];
        &mut block.bytes[block.filled..]
    }

    /// Keeps the first `length` bytes of [`room`](Self::room), to be given back `segments` times.
    pub(crate) fn keep(&mut self, length: usize, segments: usize) -> Slot {
        let current = self.current.unwrap_or_else(|| self.next_block());
        self.current = Some(current);
        let block = &mut self.blocks[current as usize];
        let start = block.filled;
        block.filled += length;
        block.segments += segments;
        Slot { block: current, start: start as u32, length: length as u32 }
    }

    /// The bytes of a packet.
    pub(crate) fn bytes(&self, slot: Slot) -> &[u8] {
        &self.blocks[slot.block as usize].bytes[slot.start as usize..][..slot.length as usize]
    }

    /// Gives `segments` of a packet back.
    pub(crate) fn release(&mut self, slot: Slot, segments: usize) {
        self.blocks[slot.block as usize].segments -= segments;
        if self.current != Some(slot.block) {
            self.recycle(slot.block);
        }
    }

    fn recycle(&mut self, block: u32) {
        let emptied = &mut self.blocks[block as usize];
        if emptied.segments == 0 {
            emptied.filled = 0;
            self.free.push(block);
        }
    }

    fn next_block(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.blocks.push(Block { bytes: vec![0; BLOCK].into(), filled: 0, segments: 0 });
            self.blocks.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_used_again_once_all_their_packets_are_gone() {
        let mut arena = Arena::default();
        for round in 0..1000_u32 {
            let places: Vec<_> = (0..40_u8)
                .map(|number| {
                    arena.room()[..60_000].fill(number);
                    arena.keep(60_000, 2)
                })
                .collect();
            for (number, slot) in places.iter().enumerate() {
                assert!(arena.bytes(*slot).iter().all(|&byte| byte == number as u8), "round {round}");
                arena.release(*slot, 1);
                arena.release(*slot, 1);
            }
        }
        assert!(arena.blocks.len() <= 4, "{} blocks", arena.blocks.len());
    }

    #[test]
    fn a_packet_that_stays_keeps_its_block_only() {
        let mut arena = Arena::default();
        arena.room()[0] = 42;
        let stays = arena.keep(1, 1);
        for _ in 0..100_000 {
            arena.room();
            let slot = arena.keep(1500, 1);
            arena.release(slot, 1);
        }
        assert_eq!(arena.bytes(stays), [42]);
        assert!(arena.blocks.len() <= 3, "{} blocks", arena.blocks.len());
    }
}

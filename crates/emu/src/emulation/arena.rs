//! Memory for the packets in flight.
//!
//! Blocks are filled from front to back, and used again once all of their packets are gone. A packet costs no allocation.

use super::super_packet::Layout;

/// The place of a stored packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    block: u32,
    packet: u32,
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
    packets: Vec<Stored>,
    /// Segments that are still needed.
    segments: usize,
}

/// A packet in a block.
#[derive(Debug, Clone, Copy)]
struct Stored {
    start: usize,
    end: usize,
    layout: Layout,
}

const BLOCK: usize = 1 << 20;

/// The longest packet that a device hands over, with the header before it: 65535 bytes of IP. Larger ones are not requested
/// from the kernel.
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

    /// Keeps the first `length` bytes of [`room`](Self::room), until each segment of `layout` is released.
    pub(crate) fn keep(&mut self, length: usize, layout: Layout) -> Slot {
        let current = self.current.unwrap_or_else(|| self.next_block());
        self.current = Some(current);
        let block = &mut self.blocks[current as usize];
        let start = block.filled;
        block.filled += length;
        block.segments += layout.segments();
        block.packets.push(Stored { start, end: block.filled, layout });
        Slot { block: current, packet: block.packets.len() as u32 - 1 }
    }

    /// The bytes of a packet, with the header before it, and how the packet is cut.
    pub(crate) fn packet(&self, slot: Slot) -> (&[u8], &Layout) {
        let block = &self.blocks[slot.block as usize];
        let Stored { start, end, layout } = &block.packets[slot.packet as usize];
        (&block.bytes[*start..*end], layout)
    }

    /// Releases `segments` of a packet.
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
            emptied.packets.clear();
            self.free.push(block);
        }
    }

    fn next_block(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let bytes = vec![0; BLOCK].into();
            self.blocks.push(Block { bytes, filled: 0, packets: Vec::new(), segments: 0 });
            self.blocks.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_used_again_once_all_their_packets_are_gone() {
        let two_segments = Layout { headers: 40, payload: 59_960, segment_payload: 30_000 };
        let mut arena = Arena::default();
        for round in 0..1000_u32 {
            let slots: Vec<_> = (0..40_u8)
                .map(|number| {
                    arena.room()[..60_000].fill(number);
                    arena.keep(60_000, two_segments)
                })
                .collect();
            for (number, slot) in slots.iter().enumerate() {
                let (bytes, layout) = arena.packet(*slot);
                assert_eq!((bytes.len(), *layout), (60_000, two_segments));
                assert!(bytes.iter().all(|&byte| byte == number as u8), "round {round}");
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
        let stays = arena.keep(1, Layout::whole(1));
        for _ in 0..100_000 {
            arena.room();
            let slot = arena.keep(1500, Layout::whole(1500));
            arena.release(slot, 1);
        }
        assert_eq!(arena.packet(stays).0, [42]);
        assert!(arena.blocks.len() <= 3, "{} blocks", arena.blocks.len());
    }
}

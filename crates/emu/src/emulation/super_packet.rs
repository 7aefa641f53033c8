//! Super-packets: the units that programs and the kernel hand over at once (TSO, USO), and the packets a link would carry for it.
//!
//! A device gives a `virtio_net_hdr` before each IP packet (Virtual I/O Device 1.2, section 5.1.6, the legacy form of
//! ten bytes in native byte order). With segmentation offload the packet is longer than the MTU, and the header says
//! how it is to be cut. [`Layout`] reads that; [`chunk_headers`] writes the headers of some of its segments, again as
//! one packet with offload where there are several.

use cellcc_units::Ecn;
use std::ops::Range;

/// Length of the header that devices put before each IP packet.
pub(crate) const VNET_HEADER: usize = 10;

/// Room for the longest headers that are cut: IPv6 with extensions, and TCP with options.
pub(crate) const MAX_HEADERS: usize = 256;

const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
/// The packet has CWR set: only its first segment may keep it.
const GSO_ECN: u8 = 0x80;
const NEEDS_CHECKSUM: u8 = 1;

const TCP_FIN_AND_PSH: u8 = 0x09;
const TCP_CWR: u8 = 0x80;
const CONGESTION_EXPERIENCED: u8 = 0b11;

/// The division of a packet into segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// IP and transport headers.
    pub(crate) headers: usize,
    /// Payload of all segments.
    pub(crate) payload: usize,
    /// Payload of a full segment; all of it where the packet is not to be cut.
    pub(crate) segment_payload: usize,
}

impl Layout {
    /// The layout of an IP packet. A packet that is not to be cut, or whose header makes no sense, is one segment.
    pub(crate) fn read(vnet: &[u8; VNET_HEADER], packet: &[u8]) -> Self {
        let (kind, segment_payload) = (vnet[1] & !GSO_ECN, usize::from(field(vnet, 4)));
        let transport = usize::from(field(vnet, 6));
        let headers = match kind {
            GSO_TCPV4 | GSO_TCPV6 => {
                packet.get(transport + 12).map(|offset| transport + usize::from(offset >> 4) * 4)
            }
            GSO_UDP_L4 => Some(transport + 8),
            _ => None,
        };
        match headers {
            Some(headers)
                if vnet[0] & NEEDS_CHECKSUM != 0
                    && segment_payload > 0
                    && transport >= 20
                    && headers <= packet.len().min(MAX_HEADERS) =>
            {
                Self { headers, payload: packet.len() - headers, segment_payload }
            }
            _ => Self::whole(packet.len()),
        }
    }

    /// One segment of `length` bytes.
    pub(crate) fn whole(length: usize) -> Self {
        Self { headers: length, payload: 0, segment_payload: 0 }
    }

    /// The number of segments, at least one.
    pub(crate) fn segments(&self) -> usize {
        if self.segment_payload == 0 { 1 } else { self.payload.div_ceil(self.segment_payload).max(1) }
    }

    /// The bytes of the payload in the segments of `range`.
    pub(crate) fn payload_of(&self, range: Range<usize>) -> Range<usize> {
        let offset = |segment: usize| (segment * self.segment_payload).min(self.payload);
        offset(range.start)..offset(range.end)
    }

    /// The size of a segment, headers included.
    pub(crate) fn size_of(&self, segment: usize) -> usize {
        self.headers + self.payload_of(segment..segment + 1).len()
    }
}

/// The headers of a chunk of a super-packet.
pub(crate) struct ChunkHeaders {
    pub(crate) vnet: [u8; VNET_HEADER],
    buffer: [u8; MAX_HEADERS],
    length: usize,
}

impl ChunkHeaders {
    pub(crate) fn ip(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

/// The headers for the segments of `range` of a packet that is cut, with congestion experienced where `marked`.
pub(crate) fn chunk_headers(
    vnet: &[u8; VNET_HEADER],
    packet: &[u8],
    layout: &Layout,
    range: Range<usize>,
    marked: bool,
) -> ChunkHeaders {
    let mut chunk = ChunkHeaders { vnet: *vnet, buffer: [0; MAX_HEADERS], length: layout.headers };
    let headers = &mut chunk.buffer[..layout.headers];
    headers.copy_from_slice(&packet[..layout.headers]);
    let payload = layout.payload_of(range.clone()).len();
    let (first, last) = (range.start == 0, range.end == layout.segments());
    let transport = usize::from(field(vnet, 6));
    if vnet[1] & !GSO_ECN == GSO_UDP_L4 {
        set_be16(headers, transport + 4, (8 + payload) as u16);
    } else {
        let sequence =
            be32(headers, transport + 4).wrapping_add(layout.payload_of(0..range.start).len() as u32);
        headers[transport + 4..transport + 8].copy_from_slice(&sequence.to_be_bytes());
        if !last {
            headers[transport + 13] &= !TCP_FIN_AND_PSH;
        }
        if !first {
            headers[transport + 13] &= !TCP_CWR;
            chunk.vnet[1] &= !GSO_ECN;
        }
    }
    if range.len() == 1 {
        chunk.vnet[1] = GSO_NONE;
        set_field(&mut chunk.vnet, 4, 0);
    }
    set_field(&mut chunk.vnet, 2, layout.headers as u16);
    set_lengths(headers, transport, payload, range.start);
    if marked {
        mark(headers);
    }
    let sum = pseudo_header_sum(headers, transport, payload);
    set_be16(headers, transport + usize::from(field(vnet, 8)), sum);
    chunk
}

/// Sets congestion experienced in an IP header.
pub(crate) fn mark(headers: &mut [u8]) {
    if is_ipv6(headers) {
        headers[1] |= CONGESTION_EXPERIENCED << 4;
    } else {
        headers[1] |= CONGESTION_EXPERIENCED;
        set_ipv4_checksum(headers);
    }
}

/// The congestion codepoint of the IP header (RFC 3168, section 5).
pub(crate) fn ecn(packet: &[u8]) -> Ecn {
    let [first, second, ..] = packet else { return Ecn::NotEct };
    let field = if first >> 4 == 6 { second >> 4 } else { *second };
    match field & CONGESTION_EXPERIENCED {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Lengths in the IP header, and the number that IPv4 gives each packet.
fn set_lengths(headers: &mut [u8], transport: usize, payload: usize, segment: usize) {
    let total = headers.len() + payload;
    if is_ipv6(headers) {
        set_be16(headers, 4, (total - 40) as u16);
        return;
    }
    let number = u16::from_be_bytes([headers[4], headers[5]]).wrapping_add(segment as u16);
    set_be16(headers, 2, total as u16);
    set_be16(headers, 4, number);
    debug_assert!(transport <= headers.len());
    set_ipv4_checksum(headers);
}

fn set_ipv4_checksum(headers: &mut [u8]) {
    let length = (usize::from(headers[0] & 0xf) * 4).clamp(20, headers.len());
    set_be16(headers, 10, 0);
    let sum = fold(sum_words(&headers[..length]));
    set_be16(headers, 10, !sum);
}

/// The initial value of a checksum that is left to offload: the sum of the pseudo-header, not complemented.
fn pseudo_header_sum(headers: &[u8], transport: usize, payload: usize) -> u16 {
    let (addresses, protocol) = if is_ipv6(headers) {
        (&headers[8..40], last_header(headers, transport))
    } else {
        (&headers[12..20], headers[9])
    };
    let length = headers.len() - transport + payload;
    fold(sum_words(addresses) + u64::from(protocol) + length as u64)
}

/// The transport's number behind IPv6's extension headers (RFC 8200, section 4).
fn last_header(headers: &[u8], transport: usize) -> u8 {
    let (mut next, mut at) = (headers[6], 40);
    while at + 1 < transport {
        next = headers[at];
        at += (usize::from(headers[at + 1]) + 1) * 8;
    }
    next
}

fn is_ipv6(headers: &[u8]) -> bool {
    headers[0] >> 4 == 6
}

fn sum_words(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|pair| u64::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]))).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn field(vnet: &[u8; VNET_HEADER], at: usize) -> u16 {
    u16::from_ne_bytes([vnet[at], vnet[at + 1]])
}

fn set_field(vnet: &mut [u8; VNET_HEADER], at: usize, value: u16) {
    vnet[at..at + 2].copy_from_slice(&value.to_ne_bytes());
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn set_be16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A TCP packet of `payload` bytes over IPv4 that asks to be cut into segments of `mss`, and its header.
    fn tcp4(payload: usize, mss: u16) -> ([u8; VNET_HEADER], Vec<u8>) {
        let mut packet = vec![0; 20 + 32 + payload];
        let total = packet.len() as u16;
        packet[0] = 0x45;
        packet[1] = 0b10;
        set_be16(&mut packet, 2, total);
        set_be16(&mut packet, 4, 65_534);
        packet[8] = 64;
        packet[9] = 6;
        packet[12..20].copy_from_slice(&[100, 64, 0, 1, 100, 64, 0, 2]);
        packet[24..28].copy_from_slice(&(u32::MAX - 999).to_be_bytes());
        packet[32] = 8 << 4;
        packet[33] = 0x10 | TCP_FIN_AND_PSH | TCP_CWR;
        for (index, byte) in packet[52..].iter_mut().enumerate() {
            *byte = index as u8;
        }
        let mut vnet = [NEEDS_CHECKSUM, GSO_TCPV4 | GSO_ECN, 0, 0, 0, 0, 0, 0, 0, 0];
        set_field(&mut vnet, 2, 52);
        set_field(&mut vnet, 4, mss);
        set_field(&mut vnet, 6, 20);
        set_field(&mut vnet, 8, 16);
        (vnet, packet)
    }

    #[test]
    fn a_super_packet_is_cut_into_full_segments_and_a_rest() {
        let (vnet, packet) = tcp4(3000, 1448);
        let layout = Layout::read(&vnet, &packet);
        assert_eq!(layout.segments(), 3);
        assert_eq!((0..3).map(|segment| layout.size_of(segment)).collect::<Vec<_>>(), [1500, 1500, 156]);
        assert_eq!(layout.payload_of(1..3), 1448..3000);
    }

    #[test]
    fn a_packet_without_offload_is_one_segment_of_its_length() {
        let (_, packet) = tcp4(100, 1448);
        let layout = Layout::read(&[0; VNET_HEADER], &packet);
        assert_eq!((layout.segments(), layout.size_of(0)), (1, 152));
    }

    #[test]
    fn each_segment_has_its_own_sequence_number_and_only_the_ends_have_the_flags_of_ends() {
        let (vnet, packet) = tcp4(3000, 1448);
        let layout = Layout::read(&vnet, &packet);
        let seen: Vec<_> = (0..3)
            .map(|segment| {
                let chunk = chunk_headers(&vnet, &packet, &layout, segment..segment + 1, false);
                let ip = chunk.ip();
                (be32(ip, 24), u16::from_be_bytes([ip[4], ip[5]]), ip[33], chunk.vnet[1])
            })
            .collect();
        let first = u32::MAX - 999;
        assert_eq!(
            seen,
            [
                (first, 65_534, 0x90, GSO_NONE),
                (first.wrapping_add(1448), 65_535, 0x10, GSO_NONE),
                (first.wrapping_add(2896), 0, 0x19, GSO_NONE)
            ]
        );
    }

    #[test]
    fn a_chunk_of_several_segments_is_a_smaller_super_packet() {
        let (vnet, packet) = tcp4(10 * 1448, 1448);
        let layout = Layout::read(&vnet, &packet);
        let chunk = chunk_headers(&vnet, &packet, &layout, 2..5, false);
        let mut whole = chunk.ip().to_vec();
        whole.extend_from_slice(&packet[layout.headers..][layout.payload_of(2..5)]);
        let inner = Layout::read(&chunk.vnet, &whole);
        assert_eq!((inner.segments(), inner.payload), (3, 3 * 1448));
        assert_eq!(u16::from_be_bytes([whole[2], whole[3]]) as usize, whole.len());
        assert_eq!(fold(sum_words(&whole[..20])), 0xffff, "the IP checksum is right");
    }

    #[test]
    fn a_mark_is_set_in_the_header_and_its_checksum_stays_right() {
        let (vnet, packet) = tcp4(3000, 1448);
        let layout = Layout::read(&vnet, &packet);
        let chunk = chunk_headers(&vnet, &packet, &layout, 0..1, true);
        assert_eq!(chunk.ip()[1] & 0b11, 0b11);
        assert_eq!(fold(sum_words(&chunk.ip()[..20])), 0xffff);
    }

    #[test]
    fn the_codepoint_of_both_versions_of_ip_is_read() {
        for (bits, codepoint) in [(0, Ecn::NotEct), (1, Ecn::Ect1), (2, Ecn::Ect0), (3, Ecn::Ce)] {
            assert_eq!(ecn(&[0x45, 0xfc | bits]), codepoint);
            assert_eq!(ecn(&[0x6f, 0xcf | bits << 4]), codepoint);
        }
    }

    #[test]
    fn the_checksum_of_a_datagram_covers_its_own_length() {
        let mut packet = vec![0; 48 + 5000];
        packet[0] = 0x60;
        packet[6] = 17;
        packet[8..40].copy_from_slice(&[7; 32]);
        let mut vnet = [NEEDS_CHECKSUM, GSO_UDP_L4, 0, 0, 0, 0, 0, 0, 0, 0];
        set_field(&mut vnet, 4, 1400);
        set_field(&mut vnet, 6, 40);
        set_field(&mut vnet, 8, 6);
        let layout = Layout::read(&vnet, &packet);
        assert_eq!((layout.segments(), layout.size_of(3)), (4, 48 + 800));
        let chunk = chunk_headers(&vnet, &packet, &layout, 3..4, false);
        let ip = chunk.ip();
        assert_eq!((u16::from_be_bytes([ip[4], ip[5]]), u16::from_be_bytes([ip[44], ip[45]])), (808, 808));
        let expected = fold(16 * 0x0707 + 17 + 808);
        assert_eq!(u16::from_be_bytes([ip[46], ip[47]]), expected);
    }

    proptest! {
        /// The kernel writes most headers, but a program with a raw socket can write any.
        #[test]
        fn no_bytes_make_it_panic(
            vnet in prop::array::uniform10(any::<u8>()),
            packet in prop::collection::vec(any::<u8>(), 0..300),
            marked: bool,
        ) {
            let layout = Layout::read(&vnet, &packet);
            prop_assert_eq!(layout.payload_of(0..layout.segments()).len(), layout.payload);
            if layout.segments() > 1 {
                chunk_headers(&vnet, &packet, &layout, 1..2, marked);
            }
        }
    }
}

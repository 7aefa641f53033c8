//! The addresses that an emulator takes; the module above describes the scheme.

use crate::error::EmuError;
use crate::netlink::Prefix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// 100.64.0.0/10, the shared address space of RFC 6598, which Mahimahi uses too.
const SHARED_SPACE: u32 = u32::from_be_bytes([100, 64, 0, 0]);
const SHARED_SPACE_BITS: u8 = 10;
/// Number of /24 blocks in it.
const BLOCKS: u16 = 1 << 14;
/// The first 48 bits of our unique local addresses (RFC 4193), with a random global identifier; the block's number is the
/// fourth group.
const LOCAL_PREFIX: [u16; 3] = [0xfd5e, 0x77a1, 0xcc04];

/// The outermost emulator's own number; its users and all nested ones have those above, up to 254.
const FIRST: u8 = 1;
const LAST: u8 = 254;

/// A block of addresses: a /24 of IPv4 and a /64 of IPv6, in which a number from 1 to 254 stands for one address each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block(u16);

impl Block {
    pub(super) fn address4(self, number: u8) -> Ipv4Addr {
        Ipv4Addr::from_bits(SHARED_SPACE | u32::from(self.0) << 8 | u32::from(number))
    }

    pub(super) fn address6(self, number: u8) -> Ipv6Addr {
        let [a, b, c] = LOCAL_PREFIX;
        Ipv6Addr::new(a, b, c, self.0, 0, 0, 0, number.into())
    }

    /// The block in which an IPv4 address is, and its number there.
    pub(super) fn of(address: Ipv4Addr) -> Option<(Self, u8)> {
        let offset = address.to_bits().checked_sub(SHARED_SPACE)?;
        let [.., number] = address.octets();
        let block = u16::try_from(offset >> 8).ok().filter(|block| *block < BLOCKS)?;
        Some((Self(block), number))
    }

    /// The number of an address in this block.
    pub(super) fn number(self, address: IpAddr) -> Option<u8> {
        let [.., number] = match address {
            IpAddr::V4(address) => address.octets(),
            IpAddr::V6(address) => (address.to_bits() as u32).to_be_bytes(),
        };
        let same = match address {
            IpAddr::V4(address) => address == self.address4(number),
            IpAddr::V6(address) => address == self.address6(number),
        };
        same.then_some(number)
    }

    /// The whole block in both families.
    fn prefixes(self) -> [Prefix; 2] {
        [(self.address4(0).into(), 24), (self.address6(0).into(), 64)]
    }

    /// The fewest prefixes that hold exactly these numbers, in both families.
    fn prefixes_of(self, numbers: Range) -> Vec<Prefix> {
        let aligned = numbers.aligned_pieces();
        let four = aligned.iter().map(|(first, bits)| (self.address4(*first).into(), 32 - bits));
        let six = aligned.iter().map(|(first, bits)| (self.address6(*first).into(), 128 - bits));
        four.chain(six).collect()
    }

    /// True if something in the namespace is in this block. A route for the whole shared space, or for more, is no
    /// obstacle: ours is the more precise one.
    fn is_used(self, addresses: &[IpAddr], routes: &[Prefix]) -> bool {
        let overlaps = |(address, bits): &Prefix| {
            let [four, six] = self.prefixes();
            match address {
                IpAddr::V4(_) => *bits > SHARED_SPACE_BITS && overlap((*address, *bits), four),
                IpAddr::V6(_) => *bits >= 64 && overlap((*address, *bits), six),
            }
        };
        let alone = addresses.iter().map(|address| (*address, if address.is_ipv4() { 32 } else { 128 }));
        alone.chain(routes.iter().copied()).any(|prefix| overlaps(&prefix))
    }
}

/// True if one of two prefixes of one family is in the other.
fn overlap(one: Prefix, other: Prefix) -> bool {
    let bits = |address| match address {
        IpAddr::V4(address) => u128::from(Ipv4Addr::to_bits(address)) << 96,
        IpAddr::V6(address) => Ipv6Addr::to_bits(address),
    };
    let shared = one.1.min(other.1);
    let differing = bits(one.0) ^ bits(other.0);
    shared == 0 || differing.leading_zeros() >= shared.into()
}

/// Numbers `first..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u8,
    pub(super) end: u8,
}

impl Range {
    fn len(self) -> u8 {
        self.end.saturating_sub(self.first)
    }

    fn contains(self, number: u8) -> bool {
        (self.first..self.end).contains(&number)
    }

    /// Cut where powers of two are aligned: the first number of each piece, and the logarithm of its length.
    fn aligned_pieces(self) -> Vec<(u8, u8)> {
        let mut pieces = Vec::new();
        let mut first = self.first;
        while first < self.end {
            let fits = (self.end - first).ilog2();
            let bits = first.trailing_zeros().min(fits) as u8;
            pieces.push((first, bits));
            first += 1 << bits;
        }
        pieces
    }

    /// `users` numbers from the beginning, and equal parts of the rest, one for each user's own emulators.
    fn shared_among(self, users: u8) -> Vec<(u8, Range)> {
        let part = (self.len() - users).checked_div(users).unwrap_or(0);
        let shares = (0..users).map(|user| {
            let first = self.first + users + user * part;
            (self.first + user, Range { first, end: first + part })
        });
        shares.collect()
    }
}

/// The share of an emulator for those started within it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Enclosing {
    pub(super) block: Block,
    /// The user's own.
    pub(super) number: u8,
    /// The user's, to hand on.
    pub(super) numbers: Range,
}

/// The addresses of one emulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Addresses {
    pub(super) block: Block,
    /// The number of the outside. Nested: that of the enclosing emulator's user, which exists already.
    pub(super) outside: u8,
    pub(super) nested: bool,
    /// Each user's own, and those for the emulators that it starts.
    pub(super) users: Vec<(u8, Range)>,
    /// The outside's routes to the users.
    pub(super) routes: Vec<Prefix>,
}

impl Addresses {
    /// Finds free addresses in a namespace with these addresses and routes.
    pub(super) fn choose(
        users: usize,
        enclosing: Option<&Enclosing>,
        addresses: &[IpAddr],
        routes: &[Prefix],
    ) -> Result<Self, EmuError> {
        match enclosing {
            Some(enclosing) => Self::nested(users, enclosing, routes),
            None => Self::outermost(users, addresses, routes),
        }
    }

    fn outermost(users: usize, addresses: &[IpAddr], routes: &[Prefix]) -> Result<Self, EmuError> {
        let free = (0..BLOCKS).map(Block).find(|block| !block.is_used(addresses, routes));
        let block = free.ok_or_else(|| {
            EmuError::Missing("every /24 of 100.64.0.0/10 is in use on this machine".into())
        })?;
        let numbers = Range { first: FIRST + 1, end: LAST + 1 };
        Ok(Self {
            block,
            outside: FIRST,
            nested: false,
            users: numbers.shared_among(checked(users, numbers)?),
            routes: block.prefixes().to_vec(),
        })
    }

    /// Takes three quarters of the free part, so that the next one at its side also finds some.
    fn nested(users: usize, enclosing: &Enclosing, routes: &[Prefix]) -> Result<Self, EmuError> {
        let block = enclosing.block;
        let is_used = |number: u8| {
            let address = (block.address4(number).into(), 32);
            routes.iter().any(|route| route.0.is_ipv4() && route.1 >= 25 && overlap(*route, address))
        };
        let free = longest_run(enclosing.numbers, is_used);
        let users = checked(users, free)?;
        let taken = (u16::from(free.len()) * 3).div_ceil(4) as u8;
        let taken = Range { first: free.first, end: free.first + taken.max(users) };
        Ok(Self {
            block,
            outside: enclosing.number,
            nested: true,
            users: taken.shared_among(users),
            routes: block.prefixes_of(taken),
        })
    }
}

fn checked(users: usize, free: Range) -> Result<u8, EmuError> {
    if users == 0 {
        return Err(EmuError::Input("an emulator needs at least one user".into()));
    }
    u8::try_from(users).ok().filter(|users| *users <= free.len()).ok_or_else(|| {
        EmuError::Input(format!("{users} users need an address each, and {} are free here", free.len()))
    })
}

/// The longest stretch of `range` without a used number; the first of equals.
fn longest_run(range: Range, is_used: impl Fn(u8) -> bool) -> Range {
    let mut longest = Range { first: range.first, end: range.first };
    let mut run = longest;
    for number in range.first..range.end {
        if is_used(number) {
            run = Range { first: number + 1, end: number + 1 };
        } else {
            run.end = number + 1;
            if run.len() > longest.len() {
                longest = run;
            }
        }
    }
    longest
}

/// Tells which user a packet is for.
#[derive(Debug, Clone)]
pub struct Directory {
    block: Block,
    users: Vec<(u8, Range)>,
}

impl Directory {
    pub(super) fn new(addresses: &Addresses) -> Self {
        Self { block: addresses.block, users: addresses.users.clone() }
    }

    /// The user, counted from 0, behind whose device this address is: its own, or that of an emulator within it.
    pub fn user(&self, address: IpAddr) -> Option<usize> {
        let number = self.block.number(address)?;
        self.users.iter().position(|(own, nested)| *own == number || nested.contains(number))
    }

    /// The user for whom this IP packet is.
    pub fn user_of_packet(&self, packet: &[u8]) -> Option<usize> {
        /// The destination's bytes: RFC 791 section 3.1 and RFC 8200 section 3.
        const DESTINATION4: std::ops::Range<usize> = 16..20;
        const DESTINATION6: std::ops::Range<usize> = 24..40;
        let address = match packet.first()? >> 4 {
            4 => IpAddr::from(<[u8; 4]>::try_from(packet.get(DESTINATION4)?).ok()?),
            6 => IpAddr::from(<[u8; 16]>::try_from(packet.get(DESTINATION6)?).ok()?),
            _ => return None,
        };
        self.user(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn enclosing(addresses: &Addresses, user: usize) -> Enclosing {
        let (number, numbers) = addresses.users[user];
        Enclosing { block: addresses.block, number, numbers }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_first_emulator_has_mahimahis_addresses() {
        let addresses = Addresses::choose(3, None, &[], &[]).unwrap();
        assert_eq!(addresses.block.address4(addresses.outside), Ipv4Addr::new(100, 64, 0, 1));
        let users: Vec<_> =
            addresses.users.iter().map(|user| addresses.block.address4(user.0).octets()[3]).collect();
        assert_eq!(users, [2, 3, 4]);
        assert_eq!(addresses.routes, [(ip("100.64.0.0"), 24), (ip("fd5e:77a1:cc04::"), 64)]);
    }

    #[test]
    fn a_block_in_use_is_left_alone() {
        let block = |addresses: &[IpAddr], routes: &[Prefix]| {
            let chosen = Addresses::choose(1, None, addresses, routes).unwrap();
            chosen.block.address4(0).to_string()
        };
        assert_eq!(block(&[ip("100.64.0.9")], &[]), "100.64.1.0");
        assert_eq!(block(&[ip("100.64.0.1")], &[(ip("100.64.1.7"), 32)]), "100.64.2.0");
        assert_eq!(block(&[], &[(ip("100.64.0.0"), 16)]), "100.65.0.0");
        assert_eq!(block(&[], &[(ip("fd5e:77a1:cc04::"), 64)]), "100.64.1.0");
        // A network's own default for the whole space does not stop us, nor do routes elsewhere.
        assert_eq!(block(&[ip("10.0.0.1")], &[(ip("100.64.0.0"), 10), (ip("fd00::"), 8)]), "100.64.0.0");
    }

    #[test]
    fn fifteen_emulators_fit_into_each_other() {
        let mut level = Addresses::choose(1, None, &[], &[]).unwrap();
        for _ in 1..15 {
            let outer = enclosing(&level, 0);
            level = Addresses::choose(1, Some(&outer), &[], &[]).unwrap();
            assert_eq!(level.outside, outer.number);
            assert!(outer.numbers.contains(level.users[0].0));
        }
    }

    #[test]
    fn emulators_next_to_each_other_share_nothing() {
        let outer = enclosing(&Addresses::choose(1, None, &[], &[]).unwrap(), 0);
        let mut routes = Vec::new();
        let mut users = Vec::new();
        for _ in 0..4 {
            let next_to = Addresses::choose(2, Some(&outer), &[], &routes).unwrap();
            users.extend(next_to.users.iter().map(|user| user.0));
            routes.extend(next_to.routes);
        }
        let mut distinct = users.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 8, "{users:?}");
    }

    #[test]
    fn too_many_users_are_refused() {
        assert!(Addresses::choose(253, None, &[], &[]).is_ok());
        for users in [0, 254, 300] {
            assert!(matches!(Addresses::choose(users, None, &[], &[]), Err(EmuError::Input(_))));
        }
    }

    #[test]
    fn an_address_leads_to_its_user_and_so_do_those_of_emulators_within() {
        let outermost = Addresses::choose(2, None, &[], &[]).unwrap();
        let directory = Directory::new(&outermost);
        assert_eq!(directory.user(ip("100.64.0.3")), Some(1));
        assert_eq!(directory.user(ip("fd5e:77a1:cc04::3")), Some(1));
        let nested = Addresses::choose(1, Some(&enclosing(&outermost, 1)), &[], &[]).unwrap();
        let address = nested.block.address4(nested.users[0].0);
        assert_eq!(directory.user(address.into()), Some(1));
        for elsewhere in ["100.64.0.1", "100.64.1.3", "10.0.0.3", "fd5e:77a1:cc04::1:0:0:3"] {
            assert_eq!(directory.user(ip(elsewhere)), None, "{elsewhere}");
        }
    }

    proptest! {
        #[test]
        fn prefixes_hold_exactly_the_numbers_asked_for(first in 1_u8..=254, length in 0_u8..=254) {
            let numbers = Range { first, end: first.saturating_add(length) };
            let block = Block(77);
            let prefixes = block.prefixes_of(numbers);
            for number in 0..=255 {
                for address in [(block.address4(number).into(), 32), (block.address6(number).into(), 128)] {
                    let holding = prefixes.iter().filter(|prefix| {
                        prefix.0.is_ipv4() == IpAddr::is_ipv4(&address.0) && overlap(**prefix, address)
                    });
                    prop_assert_eq!(holding.count(), usize::from(numbers.contains(number)));
                }
            }
        }

        #[test]
        fn any_packet_can_be_asked_about(packet: Vec<u8>) {
            let directory = Directory::new(&Addresses::choose(1, None, &[], &[]).unwrap());
            let _ = directory.user_of_packet(&packet);
        }

        #[test]
        fn a_block_knows_its_own_addresses(block in 0..BLOCKS, number: u8) {
            let block = Block(block);
            prop_assert_eq!(Block::of(block.address4(number)), Some((block, number)));
            prop_assert_eq!(block.number(block.address6(number).into()), Some(number));
        }
    }
}

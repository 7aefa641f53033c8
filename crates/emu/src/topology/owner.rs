//! The owner of a link. Each of our links names its owner in its alias, for the emulators next to it, within it and
//! after it.

use super::addresses::{Block, Enclosing, Range};
use crate::error::EmuError;
use crate::netlink::{Link, Netlink};
use crate::process::Process;
use std::fs;
use std::io;
use std::net::Ipv4Addr;

/// The beginning of our aliases; `ip link` shows them.
const MARK: &str = "cellcc";
const LINK_PREFIX: &str = "cellcc-";

/// A process, distinguished from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pid: u32,
    /// Clock ticks from boot to the process's start.
    start: u64,
    /// The inode of its process namespace; the number means something in there only.
    pid_namespace: String,
}

impl Owner {
    /// The variable that tells the programs of an emulator, and those that they start, which emulator it was.
    pub(crate) const VARIABLE: &str = "CELLCC_EMULATOR";

    /// This process.
    pub(crate) fn current() -> Result<Self, EmuError> {
        let pid = std::process::id();
        let start = start_of(pid).ok_or_else(|| {
            EmuError::system("read /proc/self/stat")(io::Error::from(io::ErrorKind::NotFound))
        })?;
        Ok(Self { pid, start, pid_namespace: pid_namespace()? })
    }

    pub(crate) fn alias(&self) -> String {
        format!("{MARK} pid={} start={} pidns={}", self.pid, self.start, self.pid_namespace)
    }

    /// Reads a link's alias; `None` where the link is not ours.
    fn of(alias: &str) -> Option<Self> {
        let field = |key| fields(alias)?.find_map(|field| field.strip_prefix(key)?.strip_prefix('='));
        Some(Self {
            pid: field("pid")?.parse().ok()?,
            start: field("start")?.parse().ok()?,
            pid_namespace: field("pidns")?.to_owned(),
        })
    }

    /// True if it has surely ended.
    fn is_dead(&self) -> bool {
        let comparable = pid_namespace().is_ok_and(|own| own == self.pid_namespace);
        comparable && start_of(self.pid) != Some(self.start)
    }
}

fn fields(alias: &str) -> Option<impl Iterator<Item = &str>> {
    let mut words = alias.split(' ');
    (words.next() == Some(MARK)).then_some(words)
}

fn pid_namespace() -> Result<String, EmuError> {
    let link = fs::read_link("/proc/self/ns/pid").map_err(EmuError::system("read /proc/self/ns/pid"))?;
    let text = link.to_string_lossy();
    Ok(text.trim_start_matches("pid:[").trim_end_matches(']').to_owned())
}

/// The start time of a living process.
fn start_of(pid: u32) -> Option<u64> {
    Process::of(pid).filter(|process| process.is_alive).map(|process| process.start)
}

/// The alias of an outside device.
pub(super) fn outside_alias(owner: &Owner) -> String {
    format!("{} outside", owner.alias())
}

/// The alias of a user's device, which gives an emulator started there its part.
pub(super) fn user_alias(owner: &Owner, address: Ipv4Addr, numbers: Range) -> String {
    let Range { first, end } = numbers;
    format!("{} address={address} free={first}..{end}", owner.alias())
}

impl Enclosing {
    /// The emulator whose user's namespace this is.
    pub(super) fn find(links: &[Link]) -> Option<Self> {
        links.iter().find_map(|link| Self::of(link.alias.as_deref()?))
    }

    fn of(alias: &str) -> Option<Self> {
        let field = |key| fields(alias)?.find_map(|field| field.strip_prefix(key)?.strip_prefix('='));
        let (block, number) = Block::of(field("address")?.parse().ok()?)?;
        let (first, end) = field("free")?.split_once("..")?;
        let numbers = Range { first: first.parse().ok()?, end: end.parse().ok()? };
        Some(Self { block, number, numbers })
    }
}

/// The links here whose emulators were killed.
pub(crate) fn leftovers(links: &[Link]) -> Vec<Link> {
    let is_left = |link: &&Link| {
        let owner = link.alias.as_deref().and_then(Owner::of);
        link.name.starts_with(LINK_PREFIX) && owner.is_some_and(|owner| owner.is_dead())
    };
    links.iter().filter(is_left).cloned().collect()
}

/// Processes here whose emulator has ended: their names and numbers.
pub(crate) fn orphans() -> Vec<String> {
    let is_left = |process: &Process| {
        let environment = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        let prefix = format!("{}=", Owner::VARIABLE);
        let owner = variables.find_map(|variable| str::from_utf8(variable).ok()?.strip_prefix(&prefix));
        owner.and_then(Owner::of).is_some_and(|owner| owner.is_dead())
    };
    Process::all().filter(is_left).map(|left| format!("{} (process {})", left.name, left.pid)).collect()
}

/// Removes the leftovers of killed emulators in this namespace.
pub(super) fn remove_leftovers(netlink: &mut Netlink) -> Result<(), EmuError> {
    for link in leftovers(&netlink.links()?) {
        // The kernel may be removing it at this moment.
        if let Err(error) = netlink.delete_link(link.index)
            && netlink.link(link.index).is_ok()
        {
            return Err(error);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(name: &str, alias: &str) -> Link {
        Link { name: name.into(), alias: Some(alias.into()), ..Link::default() }
    }

    #[test]
    fn only_links_of_ended_emulators_are_left_over() {
        let own = Owner::current().unwrap();
        let earlier = Owner { start: own.start - 1, ..own.clone() };
        let elsewhere = Owner { pid_namespace: "1".into(), ..earlier.clone() };
        let links = [
            link("cellcc-0", &outside_alias(&own)),
            link("cellcc-1", &outside_alias(&earlier)),
            link("cellcc-2", &outside_alias(&elsewhere)),
            link("cellcc-3", "somebody's"),
            link("eth0", &outside_alias(&earlier)),
        ];
        let names: Vec<_> = leftovers(&links).into_iter().map(|link| link.name).collect();
        assert_eq!(names, ["cellcc-1"]);
    }

    #[test]
    fn an_alias_tells_a_nested_emulator_what_it_may_take() {
        let address = Ipv4Addr::new(100, 64, 3, 2);
        let alias = user_alias(&Owner::current().unwrap(), address, Range { first: 3, end: 255 });
        // IFALIASZ of linux/if.h.
        assert!(alias.len() < 256);
        let found = Enclosing::find(&[link("lo", ""), link("cellcc-0", &alias)]).unwrap();
        assert_eq!(
            (found.block.address4(found.number), found.numbers.first, found.numbers.end),
            (address, 3, 255)
        );
        assert_eq!(Enclosing::find(&[link("cellcc-0", &outside_alias(&Owner::current().unwrap()))]), None);
    }
}

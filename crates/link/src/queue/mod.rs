//! Queues. A discipline is one file: its settings, their text form, and its algorithm; and a line in the list below.

mod abc;
mod backlog;
mod codel;
mod counters;
mod drop_head;
mod drop_tail;
mod dualpi2;
mod fifo;
mod fq_codel;
mod mahimahi_codel;
mod mahimahi_pie;
mod pie;
mod ran;
mod red;
pub(crate) mod text;
mod waiting;

pub(crate) use backlog::{Backlog, QueuedPacket};
pub(crate) use counters::{OwnCounter, QueueMeter};
pub use counters::{OwnCounters, QueueCounters};
pub(crate) use waiting::AqmQueue;

use crate::capacity::Capacity;
use crate::packet::Packet;
use cellcc_units::{Bytes, ParseError, QueueLimit, deserialize_text, name_and_parts};
use core::fmt;
use core::str::FromStr;
use std::sync::{Arc, LazyLock};
use text::Part;
use waiting::Waiting;

/// The settings of a discipline.
pub(crate) trait Discipline: Copy + PartialEq + 'static {
    /// As it is written.
    const NAME: &'static str;
    /// A word between the parentheses that tells it from another one with the same name.
    const VARIANT: Option<&'static str> = None;
    /// Values of parts that are not written: the default, and then presets by the word that chooses them.
    const BASES: &'static [(&'static str, Self)];
    /// The parts between the parentheses.
    const PARTS: &'static [Part<Self>];
    /// The packets that wait: a [`Waiting`].
    type Waiting<P>;

    /// Its limit.
    fn limit_mut(&mut self) -> &mut QueueLimit;

    /// The parts that cannot be together.
    fn contradiction(&self) -> Option<String> {
        None
    }

    /// An empty queue before a link of this capacity. `seed` decides what is random.
    fn waiting<P: Packet>(self, capacity: &Arc<Capacity>, seed: u64) -> Self::Waiting<P>;
}

/// The list of disciplines: for each a variant of [`Queue`] with its settings.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $module:ident::$name:ident,)+) => {
        $(pub use $module::$name;)+

        /// A queue's discipline: its limit, its drops and marks. docs/link-model.md lists the text forms.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum Queue {
            $($(#[$doc])* $name($name),)+
        }

        impl Queue {
            fn limit_mut(&mut self) -> &mut QueueLimit {
                match self {
                    $(Self::$name(settings) => settings.limit_mut(),)+
                }
            }

            /// How each discipline is written, with every part, as `codel(target=5ms, interval=100ms, limit=1000pkt, ecn)`.
            pub fn forms() -> Vec<String> {
                vec![$(text::form::<$name>()),+]
            }

            fn read(name: &str, inside: &str) -> Result<Option<Self>, ParseError> {
                let has = |word: &str| inside.split(',').any(|part| part.trim() == word);
                let variant = [$(($name::NAME, $name::VARIANT)),+].into_iter()
                    .filter(|(other, word)| *other == name && word.is_some_and(has))
                    .find_map(|(_, word)| word);
                $(if $name::NAME == name && $name::VARIANT == variant {
                    return Ok(text::read::<$name>(inside)?.map(Self::$name));
                })+
                Ok(None)
            }

            fn written(&self) -> String {
                match self {
                    $(Self::$name(settings) => text::written(settings),)+
                }
            }
        }

        /// The packets of any queue.
        #[derive(Debug, Clone)]
        pub(crate) enum AnyWaiting<P> {
            $($name(<$name as Discipline>::Waiting<P>),)+
        }

        impl<P: Packet> AnyWaiting<P> {
            pub(crate) fn new(queue: Queue, capacity: &Arc<Capacity>, seed: u64) -> Self {
                match queue {
                    $(Queue::$name(settings) => Self::$name(settings.waiting(capacity, seed)),)+
                }
            }

            pub(crate) fn get(&self) -> &dyn Waiting<P> {
                match self {
                    $(Self::$name(waiting) => waiting,)+
                }
            }

            pub(crate) fn get_mut(&mut self) -> &mut dyn Waiting<P> {
                match self {
                    $(Self::$name(waiting) => waiting,)+
                }
            }
        }
    };
}

disciplines! {
    /// First in, first out; a packet that does not fit is dropped.
    drop_tail::DropTail,
    /// First in, first out; the oldest packets are dropped until the newest fits.
    drop_head::DropHead,
    /// Controlled delay.
    codel::CoDel,
    /// Controlled delay as Mahimahi has it.
    mahimahi_codel::MahimahiCoDel,
    /// Proportional integral controller, enhanced.
    pie::Pie,
    /// Mahimahi's version.
    mahimahi_pie::MahimahiPie,
    /// Random early detection.
    red::Red,
    /// A queue for each flow, and CoDel in each.
    fq_codel::FqCoDel,
    /// Two coupled queues, for L4S.
    dualpi2::DualPi2,
    /// Marks in the base station, by the predicted wait.
    ran::Ran,
    /// ABC's router.
    abc::Abc,
}

impl Queue {
    /// Its limit.
    pub fn limit(&self) -> QueueLimit {
        *{ *self }.limit_mut()
    }

    /// The discipline on a path with this bandwidth-delay product: a limit in such products becomes one in bytes.
    #[must_use]
    pub fn on_path(mut self, bdp: Bytes) -> Self {
        if let QueueLimit::Bdp(thousandths) = self.limit() {
            *self.limit_mut() = QueueLimit::Bytes(bdp.mul_f64(thousandths as f64 / 1e3));
        }
        self
    }

    /// Checks the queue for the emulator, whose packets are opaque.
    ///
    /// # Errors
    /// It has an `ack-filter`.
    pub fn check_emulated(&self) -> Result<(), String> {
        match self {
            Self::DropTail(DropTail { ack_filter: true, .. }) => Err(format!(
                "{self}: the emulator does not read acknowledgements, only the simulator does; leave ack-filter out"
            )),
            _ => Ok(()),
        }
    }
}

static EXPECTED: LazyLock<String> = LazyLock::new(|| {
    let forms: Vec<_> = Queue::forms().iter().map(|form| format!("`{form}`")).collect();
    format!(
        "a queue: a limit above zero such as `3200pkt`, `1.5MB`, `100ms`, `2bdp` or `unlimited`, or one of {}",
        forms.join(", ")
    )
});

impl FromStr for Queue {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        if let Ok(limit) = text.parse::<QueueLimit>() {
            return Ok(limit.into());
        }
        let in_packets = || Some(format!("{text}pkt")).filter(|limit| limit.parse::<QueueLimit>().is_ok());
        let refused = || ParseError::new(text, EXPECTED.as_str()).meaning(in_packets());
        let (name, inside) = name_and_parts(text).ok_or_else(refused)?;
        Self::read(name, inside)?.ok_or_else(refused)
    }
}

impl fmt::Display for Queue {
    /// The shortest text that reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::from(self.limit()) { self.limit().fmt(f) } else { f.pad(&self.written()) }
    }
}

impl From<QueueLimit> for Queue {
    /// Drop-tail with this limit.
    fn from(limit: QueueLimit) -> Self {
        Self::DropTail(DropTail { limit, ..DropTail::DEFAULT })
    }
}

impl serde::Serialize for Queue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Queue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, EXPECTED.as_str())
    }
}

#[cfg(test)]
mod tests;

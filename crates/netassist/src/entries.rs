//! Lists in messages from elsewhere. Each entry is read by itself and at once: a bad one costs only itself, is counted and named,
//! and no tree of the message is kept in memory, which can be fifty times as large as its text.

use cellcc_netassist_client::protocol::shortened;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;

/// Users whom a cell can have, and of whom a source remembers something (3GPP TS 38.321, table 7.1-1: the RNTIs).
pub(crate) const MAX_USERS: usize = 65_519;
/// Entries of a list that are read.
const MAX_ENTRIES: usize = MAX_USERS;

/// Something that a list has, read from its JSON.
pub(crate) trait Entry: Sized {
    /// Reads it, or says what is wrong with it.
    fn read(json: &str) -> Result<Self, String>;
}

/// An entry that is right where it has the fields of its type.
pub(crate) fn fields<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

/// Entries that were left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// How many.
    pub count: u64,
    /// What was wrong with the first.
    pub first: Option<String>,
}

impl LeftOut {
    /// One more.
    pub fn add(&mut self, reason: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| shortened(reason));
    }

    /// Adds those of another list.
    pub fn join(&mut self, other: Self) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.first.as_deref().unwrap_or_default();
        match self.count {
            1 => write!(f, "an entry was left out: {first}"),
            count => write!(f, "{count} entries were left out; the first: {first}"),
        }
    }
}

/// A list. A single object stands for a list of one, and null for none.
#[derive(Debug)]
pub(crate) struct Entries<T> {
    pub(crate) read: Vec<T>,
    pub(crate) left_out: LeftOut,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self { read: Vec::new(), left_out: LeftOut::default() }
    }
}

impl<T: Entry> Entries<T> {
    fn take(&mut self, json: &str) {
        match T::read(json) {
            Ok(entry) => self.read.push(entry),
            Err(reason) => self.left_out.add(&format!("{reason}: {json}")),
        }
    }
}

impl<'de, T: Entry> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        let mut entries = Self::default();
        match json.as_bytes().first() {
            Some(b'[') => {
                let mut list = serde_json::Deserializer::from_str(json);
                entries = list.deserialize_seq(List(PhantomData)).map_err(D::Error::custom)?;
            }
            Some(b'{') => entries.take(json),
            Some(b'n') => {}
            _ => entries.left_out.add(&format!("neither a list nor an object: {json}")),
        }
        Ok(entries)
    }
}

struct List<T>(PhantomData<T>);

impl<'de, T: Entry> Visitor<'de> for List<T> {
    type Value = Entries<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX_ENTRIES} entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut entries = Entries::default();
        while let Some(entry) = list.next_element::<&RawValue>()? {
            if entries.read.len() == MAX_ENTRIES {
                return Err(A::Error::custom(format!("a list of more than {MAX_ENTRIES} entries")));
            }
            entries.take(entry.get());
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    struct Small(u8);

    impl Entry for Small {
        fn read(json: &str) -> Result<Self, String> {
            fields(json).map(Self)
        }
    }

    fn read(json: &str) -> Result<Entries<Small>, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_bad_entry_costs_only_itself_and_is_counted_and_named() {
        let entries = read(r#"[1, "two", 3, 999, {"four": [4]}]"#).unwrap();
        assert_eq!(entries.read, [Small(1), Small(3)]);
        let said = entries.left_out.to_string();
        assert!(said.starts_with("3 entries were left out; the first: ") && said.contains("two"), "{said}");
    }

    #[test]
    fn null_is_no_entry_and_what_is_no_list_is_named() {
        assert_eq!(read("null").unwrap().left_out, LeftOut::default());
        assert_eq!(read("7").unwrap().left_out.count, 1);
        assert_eq!(read("{}").unwrap().left_out.count, 1, "an object is an entry of its own");
        assert!(read("[1, 2").is_err());
    }

    #[test]
    fn a_list_that_is_too_long_is_refused_and_a_long_reason_is_cut() {
        let long = format!("[{}1]", "1,".repeat(MAX_ENTRIES));
        assert!(read(&long).unwrap_err().contains("65519"));
        let entries = read(&format!(r#"["{}\n"]"#, "x".repeat(10_000))).unwrap();
        assert!(entries.left_out.first.unwrap().len() <= 200);
    }
}

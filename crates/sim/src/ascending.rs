//! Packets or segments by ascending number. Nearly all come last and go first, so that one piece of memory serves: a tree would
//! take and give back a node for nearly every lost packet.

use std::collections::VecDeque;

/// An item with a number.
pub(crate) trait Numbered {
    fn number(&self) -> u64;
}

impl Numbered for u64 {
    #[inline]
    fn number(&self) -> u64 {
        *self
    }
}

/// At most one of each number.
#[derive(Debug, Clone)]
pub(crate) struct Ascending<T>(VecDeque<T>);

impl<T> Default for Ascending<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Numbered> Ascending<T> {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one of the smallest number.
    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        self.0.front()
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.place(number).is_ok()
    }

    /// Adds one, which takes the place of one of its number.
    pub(crate) fn insert(&mut self, one: T) {
        if self.0.back().is_none_or(|last| last.number() < one.number()) {
            self.0.push_back(one);
            return;
        }
        match self.place(one.number()) {
            Ok(place) => self.0[place] = one,
            Err(place) => self.0.insert(place, one),
        }
    }

    /// Takes out the entry of this number.
    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        if self.0.front()?.number() == number {
            return self.0.pop_front();
        }
        self.0.remove(self.place(number).ok()?)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    fn place(&self, number: u64) -> Result<usize, usize> {
        self.0.binary_search_by_key(&number, Numbered::number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn numbers_come_and_go_as_in_a_set(steps in proptest::collection::vec((any::<bool>(), 0u64..20), 0..100)) {
            let (mut numbers, mut set) = (Ascending::default(), BTreeSet::new());
            for (comes, number) in steps {
                if comes {
                    numbers.insert(number);
                    set.insert(number);
                } else {
                    prop_assert_eq!(numbers.remove(number).is_some(), set.remove(&number));
                }
                prop_assert_eq!((numbers.first(), numbers.is_empty()), (set.first(), set.is_empty()));
                prop_assert_eq!(numbers.contains(number), set.contains(&number));
            }
            prop_assert!(numbers.0.iter().eq(&set));
        }
    }
}

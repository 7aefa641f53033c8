//! What stands for a user on the wire.

use cellcc_units::Span;
use std::fmt;

/// What stands for a user on the wire. Who reads records learns no address from it: it is a hash with a secret, which is
/// new with each start of the service.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserKey(pub [u8; 16]);

impl UserKey {
    /// When in its period this user's turn is, so that not all have it at once.
    pub fn offset_in(&self, period: Span) -> Span {
        let [first, second, third, fourth, ..] = self.0;
        let share = u64::from(u32::from_le_bytes([first, second, third, fourth]));
        let nanos = (u128::from(period.as_nanos()) * u128::from(share)) >> 32;
        Span::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }
}

impl fmt::Debug for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

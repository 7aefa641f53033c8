//! A user's signed consent: this server may be informed about me, until then.

use crate::certificates::{CertificateError, Credentials};
use crate::name::{PeerName, Role};
use crate::statement::Purpose;
use cellcc_units::Span;

/// The longest consent. Ours: a month; a user who wants it longer signs again.
pub const MAX_CONSENT: Span = Span::from_secs(31 * 86_400);

/// What a consent is for.
pub const CONSENT: Purpose = Purpose {
    prefix: b"cellcc netassist consent\0",
    signer: Role::User,
    named: Role::Server,
    longest: MAX_CONSENT,
};

/// Signs that this server may be informed until `until_unix`, in seconds since 1970.
///
/// # Errors
/// The key is not of ECDSA P-256.
pub fn sign(user: &Credentials, server: &PeerName, until_unix: u64) -> Result<String, CertificateError> {
    CONSENT.sign(user, server, until_unix)
}

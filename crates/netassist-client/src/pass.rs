//! An operator's signed pass: who holds this text may see the page of that service, until then. It is for browsers, which have no
//! certificate of ours.

use crate::certificates::{CertificateError, Credentials};
use crate::name::{PeerName, Role};
use crate::statement::Purpose;
use cellcc_units::Span;

/// The longest pass. Ours: a week, for a screen on a wall.
pub const MAX_PASS: Span = Span::from_secs(7 * 86_400);

/// What a pass is for.
pub const PASS: Purpose = Purpose {
    prefix: b"cellcc netassist pass\0",
    signer: Role::Operator,
    named: Role::Service,
    longest: MAX_PASS,
};

/// Signs that who holds the text may see this service's page until `until_unix`, in seconds since 1970.
///
/// # Errors
/// The key is not of ECDSA P-256.
pub fn sign(operator: &Credentials, service: &PeerName, until_unix: u64) -> Result<String, CertificateError> {
    PASS.sign(operator, service, until_unix)
}

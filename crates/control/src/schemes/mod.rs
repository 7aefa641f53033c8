//! One file or folder per scheme. Each exports a `SCHEME`: its name, its parameters and how to build it; the list
//! below is what the registry begins with.

mod reminis;

use crate::SchemeInfo;

/// The schemes that come with cellcc, in the order in which they are listed.
pub(crate) const BUILTIN: &[SchemeInfo] = &[reminis::SCHEME];

//! The schemes that there are as objects: the list of `cellcc-schemes`, which all else reads.

#[cfg(test)]
mod layouts;
mod notation;

use crate::error::{KernelError, Release};
use cellcc_control::Assignment;
use cellcc_fixed::assisted::Advice as AdviceValue;
use cellcc_schemes::IN_KERNEL;
use cellcc_schemes::in_kernel::{InKernel, KernelCore};
use std::fmt::{self, Debug};

pub use notation::Written;

/// The programs of each scheme, by its name.
const OBJECTS: &[(&str, &[u8])] = &include!("../../objects/schemes.rs");

/// A scheme of the kernel: its place in [`ALL`](Self::ALL).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scheme(usize);

impl Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Scheme {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; IN_KERNEL.len()] = {
        let mut all = [Self(0); IN_KERNEL.len()];
        let mut place = 0;
        while place < all.len() {
            all[place] = Self(place);
            place += 1;
        }
        all
    };

    fn entry(self) -> &'static InKernel {
        const { &IN_KERNEL }.get(self.0).expect("no place but those of the list is given out")
    }

    /// The name that the kernel knows, as in `TCP_CONGESTION`.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The scheme's name in the simulator's registry.
    pub fn registry_name(self) -> &'static str {
        self.entry().registry
    }

    /// The scheme of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// The scheme of this name, the kernel's or the registry's.
    pub fn known_as(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| [scheme.name(), scheme.registry_name()].contains(&name))
    }

    /// The oldest kernel that can run it.
    pub fn since(self) -> Release {
        let (major, minor) = self.entry().since;
        Release { major, minor }
    }

    /// The functions of the kernel that it calls.
    pub fn functions(self) -> &'static [&'static str] {
        self.entry().calls
    }

    /// The core that decides.
    pub fn core(self) -> &'static KernelCore {
        self.entry().core
    }

    /// True if it follows the network's reports on the path ([`Pins::advise`](crate::Pins::advise)).
    pub fn takes_advice(self) -> bool {
        self.core().layouts.contains(&AdviceValue::LAYOUT)
    }

    pub(crate) fn object(self) -> &'static [u8] {
        let of_name = OBJECTS.iter().find(|(name, _)| *name == self.name());
        of_name.expect("a test finds the object of each scheme").1
    }
}

/// Each core of the schemes once.
pub fn cores() -> Vec<&'static KernelCore> {
    let mut cores: Vec<_> = Scheme::ALL.into_iter().map(Scheme::core).collect();
    cores.dedup_by_key(|core| core.number);
    cores
}

/// The kernel's module that has a function, where the kernel may be built without it.
pub(crate) fn module_of(function: &str) -> Option<&'static str> {
    [("cubictcp_", "tcp_cubic"), ("bbr_", "tcp_bbr")]
        .into_iter()
        .find_map(|(prefix, module)| function.starts_with(prefix).then_some(module))
}

// The settings of a running scheme.

/// The settings of a scheme, for all sockets that did not set their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    scheme: Scheme,
    /// The settings as stored in the kernel's map.
    bytes: Vec<u8>,
    values: Vec<Assignment>,
}

impl Settings {
    /// The default settings of a scheme.
    ///
    /// # Panics
    /// The registry has another scheme than the table; a test rules that out.
    pub fn default_of(scheme: Scheme) -> Self {
        Self::read(scheme, scheme.registry_name()).expect("a scheme of the registry")
    }

    /// The settings that the registry's `text` gives a scheme; it may set only values that the kernel supports.
    fn read(scheme: Scheme, text: &str) -> Result<Self, KernelError> {
        let known = cellcc_schemes::registry()
            .parse(text)
            .map_err(|error| KernelError::Notation(error.to_string()))?;
        let bytes = scheme.core().set(known.arguments());
        let unknown = || KernelError::Notation(format!("the kernel's {} has no `{text}`", scheme.name()));
        Self::of_bytes(scheme, bytes.ok_or_else(unknown)?)
    }

    /// Reads the settings from the bytes of the kernel's map.
    pub(crate) fn of_bytes(scheme: Scheme, bytes: Vec<u8>) -> Result<Self, KernelError> {
        let values = scheme.core().arguments(&bytes).ok_or(KernelError::OtherLayout(scheme.name()))?;
        let registry = cellcc_schemes::registry();
        let info = registry.schemes().iter().find(|info| info.name == scheme.registry_name());
        let has = |key: &str| {
            info.is_some_and(|info| info.parameters.iter().any(|parameter| parameter.name == key))
        };
        let values = values.into_iter().filter(|(key, _)| has(key)).collect();
        Ok(Self { scheme, bytes, values })
    }

    /// The bytes in the form of the kernel's map.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Their keys and values, as in `reminis(dtt=40ms)`.
    pub fn values(&self) -> &[Assignment] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_fits_the_kernel_and_names_one_scheme_and_its_object() {
        for scheme in Scheme::ALL {
            assert!(scheme.name().len() <= 15, "{}", scheme.name());
            assert_eq!(Scheme::named(scheme.name()), Some(scheme));
            assert!(!scheme.object().is_empty(), "{}", scheme.name());
        }
    }

    #[test]
    fn every_core_has_a_number_and_a_name_of_its_own() {
        let numbers: BTreeSet<_> = cores().iter().map(|core| core.number).collect();
        let names: BTreeSet<_> = cores().iter().map(|core| core.name).collect();
        assert_eq!((numbers.len(), names.len()), (cores().len(), cores().len()));
    }
}

//! What can be set in a scheme while it runs.

use super::Scheme;
use crate::error::KernelError;
use cellcc_control::Assignment;

/// The settings of a scheme, for all sockets that did not set their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    scheme: Scheme,
    /// As the kernel's map holds them.
    bytes: Vec<u8>,
    values: Vec<Assignment>,
}

impl Settings {
    /// Those of a scheme where nothing is set.
    ///
    /// # Panics
    /// The registry has another scheme than the table; a test rules that out.
    pub fn default_of(scheme: Scheme) -> Self {
        Self::read(scheme, scheme.registry_name()).expect("a scheme of the registry")
    }

    /// Those that the registry's `text` gives a scheme, which sets nothing that the kernel's cannot do.
    pub(super) fn read(scheme: Scheme, text: &str) -> Result<Self, KernelError> {
        let known = cellcc_schemes::registry()
            .parse(text)
            .map_err(|error| KernelError::Notation(error.to_string()))?;
        let bytes = scheme.core().set(known.arguments());
        let unknown = || KernelError::Notation(format!("the kernel's {} has no `{text}`", scheme.name()));
        Self::of_bytes(scheme, bytes.ok_or_else(unknown)?)
    }

    /// From the kernel's map.
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

    /// As the kernel's map has them.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Their keys and values, as in `reminis(dtt=40ms)`.
    pub fn values(&self) -> &[Assignment] {
        &self.values
    }
}

//! What counts on an interface for `cellcc assist serve`: the kernel, where this program can load something into it.

use cellcc_netassist::source::OpenHostCounters;

/// Nothing, where cellcc is without the feature `kernel`.
#[cfg(not(all(target_os = "linux", feature = "kernel")))]
pub(super) fn opener() -> Option<OpenHostCounters> {
    None
}

#[cfg(all(target_os = "linux", feature = "kernel"))]
pub(super) use in_kernel::opener;

#[cfg(all(target_os = "linux", feature = "kernel"))]
mod in_kernel {
    use super::OpenHostCounters;
    use cellcc_assist::PassiveCounters;
    use cellcc_kernel::{HostCounters, Machine};

    struct InKernel(HostCounters);

    impl cellcc_netassist::source::HostCounters for InKernel {
        fn read(&self, user: usize) -> Result<PassiveCounters, String> {
            self.0.read(user).map_err(|error| error.to_string())
        }
    }

    pub(in super::super) fn opener() -> Option<OpenHostCounters> {
        Some(|interface, users| {
            let counters = HostCounters::open(interface, users, &Machine::current());
            Ok(Box::new(InKernel(counters.map_err(|error| error.to_string())?)))
        })
    }
}

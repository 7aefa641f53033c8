//! Unloads a scheme, so that nothing stays.

use crate::error::KernelError;
use crate::network::{self, Namespace, Reset};
use crate::pins::Pins;
use crate::schemes::Scheme;
use std::thread::sleep;
use std::time::{Duration, Instant};

impl Pins {
    /// Unloads a scheme. What made it a default is reset first: a namespace or a route with an unloaded scheme would keep
    /// its programs, and give them to new sockets. Sockets that use it keep it until they close.
    ///
    /// A scheme that was loaded half, by a process that was killed, is removed as well.
    ///
    /// # Errors
    /// Nothing of it is there, or we may not, or somebody else holds it.
    pub fn unload(&self, scheme: Scheme) -> Result<Vec<Reset>, KernelError> {
        if !self.scheme(scheme).exists() {
            return Err(self.not_loaded(scheme));
        }
        let _turn = self.take_turn()?;
        let resets = Namespace::all()?
            .iter()
            .map(|namespace| namespace.run(|| network::reset(scheme.name(), namespace)))
            .collect::<Result<Vec<_>, _>>()?;
        self.remove(scheme)?;
        wait_until_gone(scheme)?;
        resets.into_iter().collect::<Result<Vec<_>, _>>().map(|resets| resets.concat())
    }
}

/// The kernel lets go of a link some time after its pin: a grace period of RCU, tens of milliseconds as a rule.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

fn wait_until_gone(scheme: Scheme) -> Result<(), KernelError> {
    let began = Instant::now();
    while network::available_schemes()?.iter().any(|name| name == scheme.name()) {
        if began.elapsed() > PATIENCE {
            return Err(KernelError::StillHeld(scheme.name()));
        }
        sleep(PAUSE);
    }
    Ok(())
}

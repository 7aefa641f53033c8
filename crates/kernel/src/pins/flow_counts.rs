//! Beta from the user's side: a device says in a TCP option how many flows it has (`bpf/flow_count.bpf.c`).

use crate::error::KernelError;
use crate::pins::control_group::{ControlGroup, HEAR_FLOWS, TELL_FLOWS};
use crate::pins::{ONLY, Pins};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};

impl Pins {
    /// Lets the assisted schemes believe what users' devices tell of their flows, on the connections that begin from now on in
    /// this control group, until the last scheme is unloaded.
    ///
    /// # Errors
    /// Nothing is loaded, or we may not.
    pub fn hear_flow_counts(&self, group: &ControlGroup) -> Result<(), KernelError> {
        HEAR_FLOWS.attach_and_pin(self, group)
    }
}

/// Tells the number of this device's flows on the acknowledgements of the connections that begin in a control group while this
/// value lives.
#[derive(Debug)]
pub struct FlowTeller {
    flows: MapHandle,
    _link: Link,
}

impl FlowTeller {
    /// Tells nothing until [`Self::tell`] says a number.
    ///
    /// # Errors
    /// The kernel is too old, or we may not.
    pub fn start(group: &ControlGroup) -> Result<Self, KernelError> {
        let (object, link) = TELL_FLOWS.attach(None, group)?;
        let map = object.maps().find(|map| map.name() == "own_flows");
        let map =
            map.ok_or_else(|| TELL_FLOWS.rejected("there is no map `own_flows`".into(), String::new()))?;
        let flows = MapHandle::try_from(&map).map_err(KernelError::libbpf("open the map of flows"))?;
        Ok(Self { flows, _link: link })
    }

    /// Tells this number from the next acknowledgement on; zero for none.
    ///
    /// # Errors
    /// The kernel does not take it.
    pub fn tell(&self, flows: u16) -> Result<(), KernelError> {
        self.flows
            .update(&ONLY, &u32::from(flows).to_ne_bytes(), MapFlags::ANY)
            .map_err(KernelError::libbpf("tell the number of flows"))
    }
}

//! The drivers that run a plan over sockets or in QUIC.

use crate::compare::Prepare;
use crate::exit::Exit;
#[cfg(not(target_os = "linux"))]
use cellcc_experiment::DEFAULT_DRIVER;
use cellcc_experiment::{Driver, Recordings};

/// The drivers besides the simulator, and how they are made.
pub(crate) const DRIVERS: [(&str, Prepare); 3] =
    [(cellcc_quic_drivers::VirtualDriver::NAME, quic_virtual), ("quic", quic), ("kernel", kernel)];

fn quic_virtual(_: &'static str, recordings: &Recordings) -> Result<Box<dyn Driver>, Exit> {
    let driver = cellcc_quic_drivers::VirtualDriver::new(cellcc_experiment::registry());
    Ok(Box::new(driver.with_recordings(recordings.clone())))
}

#[cfg(target_os = "linux")]
fn kernel(name: &'static str, _: &Recordings) -> Result<Box<dyn Driver>, Exit> {
    #[cfg(feature = "kernel")]
    let added = cellcc_kernel::KernelSchemes::new();
    #[cfg(not(feature = "kernel"))]
    let added = ();
    let driver = cellcc_emu::kernel::KernelDriver::new(added);
    Ok(Box::new(driver.map_err(|error| Exit::input(format!("--driver {name}: {error}")))?))
}

#[cfg(target_os = "linux")]
fn quic(name: &'static str, recordings: &Recordings) -> Result<Box<dyn Driver>, Exit> {
    let backend = cellcc_quic_drivers::sockets::QuicBackend::new(cellcc_experiment::registry());
    let backend = backend.with_recordings(recordings.clone());
    let driver = cellcc_emu::udp::UdpDriver::new(name, backend);
    Ok(Box::new(driver.map_err(|error| Exit::input(format!("--driver {name}: {error}")))?))
}

#[cfg(not(target_os = "linux"))]
fn only_linux(name: &'static str, _: &Recordings) -> Result<Box<dyn Driver>, Exit> {
    Err(Exit::input(format!("--driver {name}: only Linux has what it needs; use --driver {DEFAULT_DRIVER}")))
}

#[cfg(not(target_os = "linux"))]
use only_linux as kernel;
#[cfg(not(target_os = "linux"))]
use only_linux as quic;

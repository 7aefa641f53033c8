//! Records the cores' decisions in the kernel, step by step.

pub(crate) mod sockets;
pub(crate) mod verification;

use crate::error::KernelError;
use crate::pins::{ONLY, Pins};
use cellcc_control::event_log::{Step, StepWriter};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, RingBufferBuilder};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Bytes of the ring between the kernel and us, a power of two: ten thousand steps.
const RING_BYTES: u32 = 1 << 22;
/// Time to wait for the next step before checking whether to stop.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Bytes in front of a step: the core, and its socket (`struct socket_name` in record.h).
pub(crate) const NAME_BYTES: usize = 24;

/// A recorder of all schemes that are loaded in one place. There is one at a time; a second takes over from the first.
pub struct Recorder {
    ring: MapHandle,
    slot: MapHandle,
    missed: MapHandle,
    schemes: String,
}

/// The content of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recorded {
    /// Steps that were written.
    pub steps: u64,
    /// Steps that came too fast. They are missing between others, each of which is whole.
    pub missed: u64,
}

impl Recorder {
    /// Begins to record: the kernel's steps wait for [`run`](Self::run).
    ///
    /// # Errors
    /// No scheme is loaded, or permission is missing.
    pub fn start(pins: &Pins) -> Result<Self, KernelError> {
        let schemes: Vec<_> = pins.loaded().into_iter().map(|scheme| scheme.name()).collect();
        if schemes.is_empty() {
            return Err(pins.nothing_loaded());
        }
        let options = libbpf_rs::libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_rs::libbpf_sys::bpf_map_create_opts>() as _,
            ..Default::default()
        };
        let ring = MapHandle::create(MapType::RingBuf, Some("recording"), 0, 0, RING_BYTES, &options)
            .map_err(KernelError::libbpf("make a ring to record to"))?;
        let recorder = Self {
            ring,
            slot: pins.shared_map("recorder")?,
            missed: pins.shared_map("missed")?,
            schemes: schemes.join(" "),
        };
        recorder
            .missed
            .update(&ONLY, &0_u64.to_ne_bytes(), MapFlags::ANY)
            .and_then(|()| {
                let ring = recorder.ring.as_fd().as_raw_fd().to_ne_bytes();
                recorder.slot.update(&ONLY, &ring, MapFlags::ANY)
            })
            .map_err(KernelError::libbpf("begin to record"))?;
        Ok(recorder)
    }

    /// The names of the schemes, for a [`StepWriter`].
    pub fn schemes(&self) -> &str {
        &self.schemes
    }

    /// Writes steps until `is_over`.
    ///
    /// # Errors
    /// The ring cannot be read.
    pub fn run(self, writer: &mut StepWriter, is_over: impl Fn() -> bool) -> Result<Recorded, KernelError> {
        let mut steps = 0;
        let write = |record: &[u8]| {
            if let Some(step) = step_of(record) {
                writer.write(&step);
                steps += 1;
            }
            0
        };
        let fails = || KernelError::libbpf("read the kernel's recording");
        let mut builder = RingBufferBuilder::new();
        builder.add(&self.ring, write).map_err(fails())?;
        let ring = builder.build().map_err(fails())?;
        while !is_over() {
            ring.poll(STOP_CHECK_INTERVAL).map_err(fails())?;
        }
        // No further step begins; those in the ring are whole.
        self.stop();
        ring.consume().map_err(fails())?;
        drop(ring);
        let missed = self.missed.lookup(&ONLY, MapFlags::ANY).map_err(fails())?;
        let missed = missed.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes);
        Ok(Recorded { steps, missed })
    }

    fn stop(&self) {
        // Where it fails, the ring is no longer ours: another recorder took over.
        let _ = self.slot.delete(&ONLY);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A record of the ring: the socket's name, then the step before and after it ran, of equal length.
fn step_of(record: &[u8]) -> Option<Step> {
    let (name, steps) = record.split_at_checked(NAME_BYTES)?;
    let (before, after) = steps.split_at(steps.len() / 2);
    let words = |bytes: &[u8]| {
        let (words, []) = bytes.as_chunks() else { return None };
        Some(words.iter().copied().map(u64::from_ne_bytes).collect())
    };
    Some(Step { of: words(name)?, before: words(before)?, after: words(after)? })
}

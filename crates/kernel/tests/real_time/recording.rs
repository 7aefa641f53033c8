//! The cores' decisions in the kernel are those here.

use crate::kernel::{Kernel, RECEIVE_BUFFER, SetAtEnd, transfer, wait_until};
use cellcc_control::event_log::{Step, StepReader, StepWriter};
use cellcc_kernel::{KernelError, Recorded, Recorder, Scheme, Settings, Verified, cores, verify};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Enough for many decisions, and quick.
const BYTES: usize = 20_000_000;

/// Records the decisions of all schemes while each sends some bytes over loopback; gives the number of recorded steps.
fn record(kernel: &Kernel, file: &Path) -> u64 {
    for scheme in Scheme::ALL {
        kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    }
    let recorder = Recorder::start(&kernel.pins).expect("a recorder");
    let file = File::create(file).expect("a file");
    let mut writer = StepWriter::new(Box::new(file), recorder.schemes());
    let (is_over, looks) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _over = SetAtEnd(&is_over);
            for scheme in Scheme::ALL {
                transfer(scheme.name(), BYTES).expect("carried");
                // The ring holds the steps of one transfer. The recorder empties it before it looks whether it is over.
                let before = looks.load(Ordering::Relaxed);
                wait_until("the ring is empty", || looks.load(Ordering::Relaxed) > before + 1);
            }
        });
        let looks_whether_it_is_over = || {
            looks.fetch_add(1, Ordering::Relaxed);
            is_over.load(Ordering::Relaxed)
        };
        let Recorded { steps, missed } =
            recorder.run(&mut writer, looks_whether_it_is_over).expect("a recording");
        assert_eq!(missed, 0);
        steps
    })
}

fn verified(capture: &Path) -> Verified {
    let file = BufReader::new(File::open(capture).expect("a file"));
    verify(StepReader::new(file).expect("a capture")).expect("whole")
}

#[test]
fn every_recorded_decision_of_the_kernel_is_decided_alike_here() {
    let Some(kernel) = Kernel::take() else { return };
    let path = kernel.scratch().join("capture");
    let steps = record(&kernel, &path);
    let verified = verified(&path);
    assert_eq!(verified.difference, None);
    let counts: Vec<_> = verified.steps.iter().map(|(_, count)| count).collect();
    assert_eq!(counts.into_iter().sum::<u64>(), steps);
    // Each core was asked, of each acknowledgement or of each round trip; none covers more than a receiver's buffer.
    assert_eq!(verified.steps.len(), cores().len());
    let least = (BYTES / RECEIVE_BUFFER / 2) as u64; // Half: the first acknowledgements come before a scheme decides.
    assert!(verified.steps.iter().all(|(_, count)| *count > least), "{:?}", verified.steps);
}

#[test]
fn the_first_decision_that_differs_is_named() {
    let Some(kernel) = Kernel::take() else { return };
    let [path, changed] = ["capture", "changed"].map(|name| kernel.scratch().join(name));
    record(&kernel, &path);
    let mut reader = StepReader::new(BufReader::new(File::open(&path).expect("a file"))).expect("a capture");
    let mut writer = StepWriter::new(Box::new(File::create(&changed).expect("a file")), "");
    let mut number = 0;
    while let Some(Step { of, before, mut after }) = reader.next_step().expect("whole") {
        number += 1;
        if number == 57 {
            after[16] ^= 1; // The window of Reminis, whose scheme is the first.
        }
        writer.write(&Step { of, before, after });
    }
    drop(writer);
    let verified = verified(&changed);
    let difference = verified.difference.expect("a difference");
    assert_eq!((difference.number, difference.core), (57, "reminis"));
    assert!(difference.socket.to_string().contains("to 127.0.0.1:"), "{}", difference.socket);
    assert_ne!(difference.recorded, difference.decided);
}

#[test]
fn nothing_is_recorded_where_nothing_is_loaded() {
    let Some(kernel) = Kernel::take() else { return };
    let started = Recorder::start(&kernel.pins).map(|_| ());
    assert!(matches!(started, Err(KernelError::NothingLoaded)), "{started:?}");
}

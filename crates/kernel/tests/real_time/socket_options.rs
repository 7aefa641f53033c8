//! A program sets its own delay target.

use crate::control_group::Group;
use crate::kernel::{Kernel, connect, ours};
use bytemuck::checked;
use cellcc_control::event_log::{StepReader, StepWriter};
use cellcc_fixed::reminis::step::ReminisStep;
use cellcc_kernel::{KernelError, Recorder, Settings, TARGET_OPTION};
use socket2::Socket;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sets an option of a TCP socket that no crate knows.
#[allow(unsafe_code, reason = "no crate has a safe wrapper for options of one's own")]
fn set(socket: &Socket, option: i32, value: u32) -> io::Result<()> {
    let length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the kernel reads four bytes, which live here.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, option, (&raw const value).cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The targets that the kernel's Reminis had, in microseconds, while a socket sent some bytes after `prepare`.
fn targets(kernel: &Kernel, prepare: impl FnOnce(&Socket)) -> Vec<u32> {
    let path = kernel.scratch().join("capture");
    let recorder = Recorder::start(&kernel.pins).expect("a recorder");
    let file = File::create(&path).expect("a file");
    let mut writer = StepWriter::new(Box::new(file), recorder.schemes());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut socket = connect(ours("cellcc_reminis").name(), listener.local_addr().expect("an address"))
        .expect("connected");
    prepare(&socket);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a connection");
            io::copy(&mut stream, &mut io::sink()).expect("received");
            is_over.store(true, Ordering::Relaxed);
        });
        scope.spawn(move || socket.write_all(&vec![7; 5_000_000]).expect("sent"));
        recorder.run(&mut writer, || is_over.load(Ordering::Relaxed)).expect("a recording");
    });
    drop(writer);
    let mut reader = StepReader::new(BufReader::new(File::open(&path).expect("a file"))).expect("a capture");
    let mut targets = Vec::new();
    while let Some(step) = reader.next_step().expect("whole") {
        let step: ReminisStep =
            checked::try_pod_read_unaligned(bytemuck::cast_slice(&step.before)).expect("a step of Reminis");
        targets.push(step.settings.target_us);
    }
    targets.remove(0); // From the handshake, which came before `prepare`.
    targets
}

#[test]
fn a_program_in_the_group_sets_its_own_target_and_others_cannot() {
    let Some(kernel) = Kernel::take() else { return };
    let scheme = ours("cellcc_reminis");
    let group = Group::enter();
    let too_soon = kernel.pins.offer_socket_options(&group.open());
    assert!(matches!(too_soon, Err(KernelError::NothingLoaded)), "{too_soon:?}");
    kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    let refused = |socket: &Socket| {
        let error = set(socket, TARGET_OPTION, 40_000).expect_err("refused");
        assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT), "{error}");
    };
    let before = targets(&kernel, refused);
    assert!(!before.is_empty() && before.iter().all(|target| *target == 0), "{before:?}");

    kernel.pins.offer_socket_options(&group.open()).expect("offered");
    let own = targets(&kernel, |socket| set(socket, TARGET_OPTION, 40_000).expect("set"));
    assert!(!own.is_empty() && own.iter().all(|target| *target == 40_000), "{own:?}");
    // It is the socket's, and no other's.
    let other = targets(&kernel, |_| {});
    assert!(!other.is_empty() && other.iter().all(|target| *target == 0), "{other:?}");

    kernel.pins.unload(scheme).expect("unloaded");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    refused(&connect("reno", listener.local_addr().expect("an address")).expect("connected"));
}

//! Commands in the namespace where we are already, which needs no rights: exit statuses, environment, and leftovers.
//!
//! All children of a process count as commands: hence a program of its own, and one test at a time.

#![cfg(target_os = "linux")]

use cellcc_emu::commands::Commands;
use cellcc_emu::error::EmuError;
use cellcc_emu::job::Job;
use cellcc_emu::namespace::Namespace;
use cellcc_test_support::{alone, needs_punctuality};
use std::ffi::OsString;
use std::io::{self, Read};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

fn job(command: &[&str]) -> Job {
    Job {
        command: command.iter().map(OsString::from).collect(),
        prompt: "[cellcc] ".into(),
        base4: Ipv4Addr::new(100, 64, 0, 1),
        base6: Ipv6Addr::LOCALHOST,
        user: 0,
        server_output: None,
    }
}

fn server(command: &[&str], output: BorrowedFd<'_>) -> Job {
    Job { server_output: Some(Arc::new(output.try_clone_to_owned().unwrap())), ..job(command) }
}

/// The exit status of a command, and the names of its leftovers.
fn run(job: &Job) -> Result<(u8, Vec<String>), EmuError> {
    let mut commands = Commands::new()?;
    let command = commands.start(&Namespace::current()?, job)?;
    let status = commands.wait(command)?;
    let left = commands.end();
    Ok((status, left.iter().map(|left| left.to_string().split(' ').next().unwrap().to_owned()).collect()))
}

fn status(command: &[&str]) -> Result<u8, EmuError> {
    run(&job(command)).map(|(status, _)| status)
}

#[test]
fn the_exit_status_is_passed_on() {
    let _alone = alone();
    assert_eq!(status(&["sh", "-c", "exit 7"]).unwrap(), 7);
    assert_eq!(status(&["sh", "-c", "kill -TERM $$"]).unwrap(), 128 + 15);
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let _alone = alone();
    let error = status(&["no-such-program-of-ours"]).unwrap_err();
    assert!(matches!(&error, EmuError::Command { status: 127, .. }), "{error}");
    assert!(error.to_string().starts_with("no-such-program-of-ours: command not found"));
    let error = status(&["/proc/version"]).unwrap_err();
    assert!(matches!(&error, EmuError::Command { status: 126, .. }), "{error}");
}

#[test]
fn the_command_learns_the_outsides_addresses() {
    let _alone = alone();
    let check = "test \"$MAHIMAHI_BASE\" = 100.64.0.1 && test \"$CELLCC_BASE6\" = ::1";
    assert_eq!(status(&["sh", "-c", check]).unwrap(), 0);
}

#[test]
fn a_prompt_has_the_prefix() {
    let _alone = alone();
    let check =
        "eval \"$PROMPT_COMMAND\"; test \"$PS1\" = \"$MAHIMAHI_SHELL_PREFIX\"'p> ' -a -z \"$PROMPT_COMMAND\"";
    assert_eq!(status(&["sh", "-c", &format!("PS1='p> '; {check}")]).unwrap(), 0);
    assert_eq!(status(&["sh", "-c", "test \"$PS1\" = \"${MAHIMAHI_SHELL_PREFIX}$ \""]).unwrap(), 0);
}

#[test]
fn what_a_command_leaves_running_ends_and_is_named_but_not_what_a_server_has_in_its_group() {
    let _alone = alone();
    // In a session of its own, as a daemon is; and with a child.
    let daemon = "setsid sh -c 'sleep 61 & exec sleep 60' & until grep -q sleep /proc/$!/comm; do :; done";
    let (status, left) = run(&job(&["sh", "-c", &format!("{daemon}; exit 3")])).unwrap();
    assert_eq!((status, left.len(), left[0].as_str()), (3, 2, "sleep"));
    let server = server(&["sh", "-c", "sleep 60 & exit 0"], io::stderr().as_fd());
    assert_eq!(run(&server).unwrap(), (0, vec![]));
    // Nothing is left to end.
    assert_eq!(run(&job(&["true"])).unwrap(), (0, vec![]));
}

/// A server that was killed at once used to lose its unwritten output.
#[test]
fn a_server_is_asked_to_end_before_it_is_killed_and_writes_where_it_was_asked_to() {
    // It has a second, and takes a processor for itself.
    needs_punctuality(|| {
        let (mut reader, writer) = io::pipe().unwrap();
        // Without a child, whose end the shell might report.
        let lines = "trap 'echo last; exit' TERM; echo first; echo error >&2; while :; do :; done";
        let mut commands = Commands::new().unwrap();
        commands
            .start(&Namespace::current().unwrap(), &server(&["sh", "-c", lines], writer.as_fd()))
            .unwrap();
        drop(writer);
        let mut begin = [0; "first\nerror\n".len()];
        reader.read_exact(&mut begin).unwrap();
        assert_eq!(commands.end(), []);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "last\n");
    });
}

#[test]
fn an_early_error_leaves_nothing_running() {
    let _alone = alone();
    let mut commands = Commands::new().unwrap();
    let sleeps = commands.start(&Namespace::current().unwrap(), &job(&["sleep", "60"])).unwrap();
    assert_eq!(commands.ended(sleeps), None);
    drop(commands);
    let left = run(&job(&["true"])).unwrap().1;
    assert_eq!(left, Vec::<String>::new());
}

//! A real nats-server, configured as the guide says.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const GUIDE: &str = include_str!("../../../docs/how-to/netassist-nats.md");
/// Debian's is not in an ordinary user's PATH.
const PROGRAMS: [&str; 2] = ["nats-server", "/usr/sbin/nats-server"];
/// Ends a hang: longer than a start takes on a slow machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The program, if it is installed.
pub fn program() -> Option<&'static str> {
    PROGRAMS.into_iter().find(|program| Command::new(program).arg("--version").output().is_ok())
}

/// The guide's configuration that begins with this comment. Clients connect to port 4222, leaves to 7422.
///
/// # Panics
/// The guide has none.
pub fn example(first_line: &str) -> String {
    let (_, after) = GUIDE.split_once(&format!("```conf\n{first_line}\n")).expect("the guide has it");
    after.split_once("```").expect("it ends").0.to_owned()
}

/// A port on loopback that was free just now.
///
/// # Errors
/// There is none.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Starts the broker of the `nats.conf` in this folder, and waits for its port. The log is the folder's file `log`.
///
/// # Errors
/// It is not installed, or ends; then the log says why.
pub fn start(folder: &Path, port: u16) -> io::Result<Child> {
    let program = program().ok_or_else(|| io::Error::other("no nats-server: apt-get install nats-server"))?;
    let mut process = Command::new(program)
        .args(["--config", "nats.conf", "--addr", "127.0.0.1"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(File::create(folder.join("log"))?)
        .spawn()?;
    let began = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if began.elapsed() > START_TIMEOUT || process.try_wait()?.is_some() {
            let _ = process.kill();
            let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
            return Err(io::Error::other(format!("nats-server: {log}")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(process)
}

//! Debian's nginx, unchanged, serves a file to curl with a scheme of ours: the how-to.

use crate::kernel::{Kernel, available, ours, run, wait_until};
use crate::spaces::{
    CELLULAR_ADDRESS, CELLULAR_PREFIX, CLIENT, OTHER_ADDRESS, SERVER, SERVER_ADDRESS, Spaces, within,
};
use cellcc_kernel::{Settings, routes};
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const PORT: u16 = 8080;
const FILE_BYTES: usize = 20_000_000;
/// Slow enough to look at the connection while it lasts, 20 s.
const SLOWLY: [&str; 2] = ["--limit-rate", "1M"];

/// nginx in the server's namespace, which ends with this value.
struct Nginx(Child);

impl Nginx {
    /// Serves `files`.
    fn start(folder: &Path, files: &Path) -> Self {
        let [folder, files] = [folder, files].map(|path| path.to_str().expect("a path of text"));
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary = temporary.map(|name| format!("{name}_temp_path {folder}/{name};")).concat();
        let config = format!(
            "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log; events {{}}
             http {{ access_log off; sendfile on; {temporary}
                     server {{ listen {SERVER_ADDRESS}:{PORT}; root {files}; }} }}"
        );
        let path = format!("{folder}/nginx.conf");
        fs::write(&path, config).expect("a configuration");
        let start = || Command::new("nginx").args(["-c", &path, "-e", "stderr"]).spawn().expect("nginx");
        let server = Self(within(SERVER, start));
        wait_until("nginx listens", || within(CLIENT, || TcpStream::connect((SERVER_ADDRESS, PORT)).is_ok()));
        server
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// curl in the client's namespace, with this address, which fetches the file.
fn curl(client: &str, into: &Path, options: &[&str]) -> Child {
    let url = format!("http://{SERVER_ADDRESS}:{PORT}/file");
    let start = || {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--fail", "--interface", client, &url, "-o"]).arg(into).args(options);
        curl.stdin(Stdio::null()).spawn().expect("curl")
    };
    within(CLIENT, start)
}

/// The output of `ss` for the server's connection while a client with this address fetches the file; the file as it arrived.
fn fetched_by(client: &str, into: &Path) -> (String, Vec<u8>) {
    let mut slow = curl(client, into, &SLOWLY);
    let mut sockets = String::new();
    while sockets.is_empty() && slow.try_wait().expect("curl's state").is_none() {
        sockets = run("ip", &["netns", "exec", SERVER, "ss", "-tinH", "state", "established", "dst", client]);
    }
    let _ = slow.kill();
    let _ = slow.wait();
    assert!(curl(client, into, &[]).wait().expect("curl's end").success());
    (sockets, fs::read(into).expect("the file"))
}

#[test]
fn nginx_serves_the_clients_of_a_prefix_with_reminis_and_others_as_before() {
    let Some(kernel) = Kernel::take() else { return };
    for (program, version) in [("nginx", "-v"), ("curl", "-V")] {
        if Command::new(program).arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
            cellcc_test_support::skip(format!("{program} is missing: apt-get install {program}"));
            return;
        }
    }
    let _spaces = Spaces::build();
    let files = kernel.scratch().join("files");
    fs::create_dir(&files).expect("a folder");
    let sent: Vec<u8> = (0..FILE_BYTES).map(|place| (place / 251) as u8).collect();
    fs::write(files.join("file"), &sent).expect("a file");
    let _server = Nginx::start(kernel.scratch(), &files);

    let scheme = ours("cellcc_reminis");
    kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    let prefix = CELLULAR_PREFIX.parse().expect("a prefix");
    within(SERVER, || routes::add(prefix, scheme.name())).expect("a route");
    let into = kernel.scratch().join("fetched");
    let (cellular, arrived) = fetched_by(CELLULAR_ADDRESS, &into);
    assert!(cellular.contains(scheme.name()), "{cellular}");
    assert!(arrived == sent, "the file is not what was sent");
    let (other, arrived) = fetched_by(OTHER_ADDRESS, &into);
    assert!(!other.is_empty() && !other.contains(scheme.name()), "{other}");
    assert!(arrived == sent, "the file is not what was sent");

    kernel.pins.unload(scheme).expect("unloaded");
    let (after, _) = fetched_by(CELLULAR_ADDRESS, &into);
    assert!(!after.is_empty() && !after.contains(scheme.name()), "{after}");
    assert!(!available().iter().any(|name| name == scheme.name()));
}

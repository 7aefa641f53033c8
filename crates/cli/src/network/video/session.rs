//! One run: a server, a link, a browser, and the page's messages.

#![allow(clippy::disallowed_methods, reason = "a browser takes real time, and a thread reads its output")]

use super::link::Link;
use super::outcome::{Outcome, Run, Sample};
use super::{Setup, What};
use crate::exit::{Exit, tell};
use crate::network::transfer::serve::kept_identity;
use cellcc_control::Scheme;
use cellcc_emu::guard::Guard;
use cellcc_experiment::Source;
use serde::Deserialize;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Its names in Debian and elsewhere.
const BROWSERS: [&str; 2] = ["chromium", "chromium-browser"];
/// Its own flags: it plays without a click, starts no service, and as root no sandbox.
const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --no-proxy-server \
     --disable-background-networking --autoplay-policy=no-user-gesture-required --mute-audio --enable-logging=stderr";
/// A run ends this long after the time that it should last: the page does not load, or the browser hangs.
const LATEST_END: Duration = Duration::from_secs(60);
/// Between runs: the emulator and the browser begin and end.
const OVERHEAD: Duration = Duration::from_secs(5);
/// How the page's lines begin.
const MARK: &str = "\"cellcc ";
/// How the browser ends them.
const END: &str = "\", source: ";

/// What happens during a run.
pub(crate) enum Event {
    Line(String),
    /// The run's programs have ended.
    Closed,
    Interrupted,
}

/// A message of the page.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    /// It measures from now on.
    Begin,
    Sample(Sample),
    End(Outcome),
    Failed(String),
}

/// The sending program.
pub(crate) enum Server {
    /// `cellcc serve --http`, by this scheme.
    Http3(Scheme),
    /// nginx, by this congestion control of the kernel's TCP.
    Tcp(String),
}

impl Server {
    /// Reads `tide`, or `tcp:cubic`.
    pub(crate) fn parse(text: &str) -> Result<Self, Exit> {
        let Some(name) = text.strip_prefix("tcp:") else {
            let scheme = cellcc_schemes::registry().parse(text);
            return scheme.map(Self::Http3).map_err(|error| Exit::input(format!("--schemes: {error}")));
        };
        let known =
            fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
        if known.split_whitespace().any(|one| one == name) {
            return Ok(Self::Tcp(name.into()));
        }
        Err(Exit::input(format!(
            "--schemes {text}: this kernel has {}; `cellcc tcp load {name}` loads schemes of cellcc, `modprobe tcp_{name}` others",
            known.trim()
        )))
    }

    /// As it was written.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Http3(scheme) => scheme.text().into(),
            Self::Tcp(name) => format!("tcp:{name}"),
        }
    }
}

/// All that runs need.
pub(crate) struct Session<'a> {
    setup: &'a Setup,
    site: &'a Path,
    program: PathBuf,
    browser: &'static str,
    /// The key that identifies the server to the browser.
    key: String,
    /// For the browser's files.
    scratch: TempDir,
    /// Ends programs and removes the folder, whatever ends this process.
    guard: &'a Guard,
    sender: Sender<Event>,
    events: Receiver<Event>,
}

/// The programs of a run, which end with this.
struct Programs(Child);

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        setup: &'a Setup,
        site: &'a Path,
        guard: &'a mut Guard,
        sender: Sender<Event>,
        events: Receiver<Event>,
    ) -> Result<Self, Exit> {
        let is_there = |name: &&str| {
            let version =
                Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            version.is_ok_and(|status| status.success())
        };
        let browser = BROWSERS.into_iter().find(is_there);
        let browser = browser
            .ok_or_else(|| Exit::input("there is no chromium here; on Debian: apt-get install chromium"))?;
        let program = std::env::current_exe().map_err(Exit::failed)?;
        let key = kept_identity()?.key_hash().map_err(Exit::failed)?;
        let scratch = tempfile::Builder::new().prefix("cellcc-video-").tempdir().map_err(Exit::failed)?;
        guard.remove(scratch.path())?;
        Ok(Self { setup, site, program, browser, key, scratch, guard, sender, events })
    }

    /// How long so many runs take.
    pub(crate) fn minutes(&self, runs: usize) -> u64 {
        let each = match self.setup.what {
            What::Page => OVERHEAD,
            What::Film | What::Frames(_) => Duration::from_nanos(self.setup.duration.as_nanos()) + OVERHEAD,
        };
        (each * runs as u32).as_secs().div_ceil(60)
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, run: u32, server: &Server) -> Result<Run, Exit> {
        let profile = tempfile::tempdir_in(&self.scratch).map_err(Exit::failed)?;
        let link_log = profile.path().join("down.log");
        let began = Instant::now();
        let mut programs = self.begin(server, profile.path(), &link_log)?;
        let Programs(child) = &mut programs;
        let mut ends_at = began + Duration::from_nanos(self.setup.duration.as_nanos()) + LATEST_END;
        let mut done = Run::new(run, &server.text());
        // From the link's begin to the page's.
        let mut before_s = 0.0;
        let mut failure = String::from("the browser ended, and the page said nothing");
        loop {
            let line = match self.events.recv_timeout(ends_at.saturating_duration_since(Instant::now())) {
                Ok(Event::Line(line)) => line,
                Ok(Event::Closed) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(Event::Interrupted) => {
                    tell("interrupted; go on with --resume, the same flags and --out");
                    return Err(Exit::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) if matches!(child.try_wait(), Ok(Some(_))) => {
                    return Err(Exit::failed(
                        "the browser does not end, although its parent process is gone",
                    ));
                }
                Err(RecvTimeoutError::Timeout) => {
                    done.spoilt.push("the page or the browser did not end".into());
                    let _ = child.kill();
                    // Its messages until it is gone must not reach the next run.
                    ends_at += LATEST_END;
                    continue;
                }
            };
            match said(&line) {
                Some(Ok(Said::Begin)) => before_s = began.elapsed().as_secs_f64(),
                Some(Ok(Said::Sample(sample))) => done.samples.push(sample),
                Some(Ok(Said::End(outcome))) => done.ended(outcome),
                Some(Ok(Said::Failed(cause))) => done.spoilt.push(cause),
                Some(Err(error)) => return Err(Exit::failed(format!("message of the page: {error}"))),
                None => match line.split_once(": ") {
                    Some(("warning", cause)) => done.spoilt.push(cause.into()),
                    Some(("error", cause)) => failure = cause.into(),
                    _ => {}
                },
            }
            if done.outcome.is_some() || !done.spoilt.is_empty() {
                // The browser ends with its standard input.
                drop(child.stdin.take());
            }
        }
        let _ = child.wait();
        if done.outcome.is_some() {
            done.link = Some(Link::read(&link_log, before_s, self.setup.duration)?);
        } else if done.spoilt.is_empty() {
            let of_server = fs::read_to_string(self.server_log()).unwrap_or_default();
            return Err(Exit::failed(format!("{}: {failure}\n{of_server}", server.text())));
        }
        Ok(done)
    }

    /// Starts all programs; their lines on standard error become events.
    fn begin(&self, server: &Server, profile: &Path, link_log: &Path) -> Result<Programs, Exit> {
        let mut command = self.command(server, profile, link_log);
        self.guard.hold(&mut command);
        let mut child = command.spawn().map_err(Exit::failed)?;
        let stderr = child.stderr.take().expect("it is piped");
        let sender = self.sender.clone();
        thread::spawn(move || {
            // Chromium's own lines may hold anything.
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                let _ = sender.send(Event::Line(String::from_utf8_lossy(&line).into_owned()));
            }
            let _ = sender.send(Event::Closed);
        });
        Ok(Programs(child))
    }

    fn command(&self, server: &Server, profile: &Path, link_log: &Path) -> Command {
        let Setup { down, path, duration, what, .. } = self.setup;
        let (server, address) = match server {
            Server::Http3(scheme) => (self.http3(scheme), "https://$MAHIMAHI_BASE"),
            Server::Tcp(name) => (self.nginx(name), "http://$MAHIMAHI_BASE"),
        };
        let query = match what {
            What::Film | What::Page => String::new(),
            What::Frames(rate) => {
                let per_second = Source::FRAMES_PER_SECOND;
                format!("&bytes={}&per_second={per_second}", rate.as_bytes_per_sec() / per_second)
            }
        };
        // A browser that is killed leaves a folder in TMPDIR.
        let browser = format!(
            "TMPDIR={1} {0} {FLAGS} --user-data-dir={1} --origin-to-force-quic-on=$MAHIMAHI_BASE:443 \
             --ignore-certificate-errors-spki-list={2} \"{address}/?seconds={3}{query}\" & read _; kill $!; wait",
            self.browser,
            quoted(profile),
            self.key,
            duration.as_secs_f64()
        );
        let mut command = Command::new(&self.program);
        command.args(["shell", "--down", down]).args(path).args(["--server", &server, "--server-log"]);
        command.arg(self.server_log()).arg("--down-log").arg(link_log);
        command.args(["--", "sh", "-c", &browser]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// The log of the last run's server.
    fn server_log(&self) -> PathBuf {
        self.site.with_file_name("server.log")
    }

    fn http3(&self, scheme: &Scheme) -> String {
        let Setup { down, path, .. } = self.setup;
        let rtt = path.iter().find_map(|flag| flag.strip_prefix("--rtt=")).unwrap_or("0ms");
        let advice = match scheme.advice_request() {
            Some(_) => format!(" --advice {} --advice-rtt {rtt}", quoted(format!("causal:{down}"))),
            None => String::new(),
        };
        let (program, site, scheme) = (quoted(&self.program), quoted(self.site), quoted(scheme.text()));
        format!("exec {program} serve --quiet --listen 0.0.0.0:443 --http {site} --scheme {scheme}{advice}")
    }

    /// With all of its settings in one file. It deletes its process file in the end, so that is a file of its own.
    fn nginx(&self, name: &str) -> String {
        let (site, conf) = (self.site.display(), self.site.with_file_name("nginx.conf"));
        let settings = quoted(format!(
            "daemon off; user root; pid \"{site}.pid\"; error_log stderr; events {{}} http {{ \
             include /etc/nginx/mime.types; access_log off; server {{ listen 80; root \"{site}\"; }} }}"
        ));
        let path = quoted(conf);
        // The namespace's default may be one of a few only (`tcp_allowed_congestion_control`), a route's any.
        let routes =
            format!("ip route | while read -r route; do ip route replace $route congctl {name}; done");
        format!("printf %s {settings} >{path} && {routes} && exec nginx -c {path}")
    }
}

/// The page's message in a line of the browser's log.
fn said(line: &str) -> Option<Result<Said, serde_json::Error>> {
    let (_, rest) = line.split_once(MARK)?;
    let (text, _) = rest.rsplit_once(END)?;
    Some(serde_json::from_str(text))
}

/// A word of a shell's line.
fn quoted(word: impl AsRef<OsStr>) -> String {
    format!("'{}'", word.as_ref().display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_chromiums_log_holds_what_the_page_says() {
        let line = r#"[77:77:1126/233400.123:INFO:CONSOLE:12] "cellcc {"end":{"page":{"load_s":1.5,"content_s":0.25}}}", source: https://100.64.0.1/ (12)"#;
        let Some(Ok(Said::End(Outcome::Page(page)))) = said(line) else { panic!("{:?}", said(line)) };
        assert_eq!((page.load_s, page.content_s), (1.5, 0.25));
        assert!(said("[77:77] GPU process ended").is_none());
        assert!(said(r#""cellcc {}", source: x"#).is_some_and(|said| said.is_err()));
    }

    #[test]
    fn a_quoted_word_is_one_word_of_a_shell() {
        let output = Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted("it's $HOME"))).output();
        assert_eq!(output.unwrap().stdout, b"it's $HOME");
    }
}

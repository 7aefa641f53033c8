//! One run: a server, a link, a browser, and what the page says.

use super::outcome::{Outcome, Run, Sample};
use super::{Setup, What};
use crate::exit::{Exit, tell};
use crate::network::transfer::serve::kept_identity;
use cellcc_control::Scheme;
use serde::Deserialize;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// What Debian and others call it.
const BROWSERS: [&str; 2] = ["chromium", "chromium-browser"];
/// What it needs of itself: it plays without a click, starts no service, and as root no sandbox.
const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --no-proxy-server \
     --disable-background-networking --autoplay-policy=no-user-gesture-required --mute-audio --enable-logging=stderr";
/// HTTPS's alternative port: nobody else is in the server's namespace.
const PORT: u16 = 443;
/// A run ends this long after the time that it should last: the page does not load, or the browser hangs.
const PATIENCE: Duration = Duration::from_secs(60);
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

/// What a page says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Sample(Sample),
    End(Outcome),
    Failed(String),
}

/// All that runs need.
pub(crate) struct Session<'a> {
    setup: &'a Setup,
    site: &'a Path,
    program: PathBuf,
    browser: &'static str,
    /// By which the browser knows the server.
    key: String,
    sender: Sender<Event>,
    events: Receiver<Event>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        setup: &'a Setup,
        site: &'a Path,
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
        Ok(Self { setup, site, program, browser, key, sender, events })
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
    pub(crate) fn run(&self, run: u32, scheme: &Scheme) -> Result<Run, Exit> {
        let profile = tempfile::tempdir().map_err(Exit::failed)?;
        let mut child = self.command(scheme, profile.path()).spawn().map_err(Exit::failed)?;
        let stderr = child.stderr.take().expect("it is piped");
        let sender = self.sender.clone();
        thread::spawn(move || {
            // Chromium's own lines may hold anything.
            let lines = BufReader::new(stderr).split(b'\n').map_while(Result::ok);
            for line in lines {
                let _ = sender.send(Event::Line(String::from_utf8_lossy(&line).into_owned()));
            }
            let _ = sender.send(Event::Closed);
        });
        let ends_at = Instant::now() + Duration::from_nanos(self.setup.duration.as_nanos()) + PATIENCE;
        let mut done = Run::new(run, scheme.text());
        let mut last = Vec::new();
        loop {
            let line = match self.events.recv_timeout(ends_at.saturating_duration_since(Instant::now())) {
                Ok(Event::Line(line)) => line,
                Ok(Event::Closed) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(Event::Interrupted) => {
                    tell("interrupted; go on with --resume, the same flags and --out");
                    return Err(Exit::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let _ = child.kill();
                    done.spoilt.push("the page did not end".into());
                    break;
                }
            };
            match said(&line) {
                Some(Ok(Said::Sample(sample))) => done.samples.push(sample),
                Some(Ok(Said::End(outcome))) => {
                    done.ended(outcome);
                    // The browser ends with its standard input.
                    drop(child.stdin.take());
                }
                Some(Ok(Said::Failed(cause))) => {
                    done.spoilt.push(cause);
                    drop(child.stdin.take());
                }
                Some(Err(error)) => return Err(Exit::failed(format!("what the page says: {error}"))),
                None => match line.strip_prefix("warning: ") {
                    Some(warning) => done.spoilt.push(warning.into()),
                    None => last.push(line),
                },
            }
        }
        let _ = child.wait();
        if done.outcome.is_none() && done.spoilt.is_empty() {
            let tail = last[last.len().saturating_sub(5)..].join("\n");
            return Err(Exit::failed(format!("the browser ended and the page said nothing:\n{tail}")));
        }
        Ok(done)
    }

    fn command(&self, scheme: &Scheme, profile: &Path) -> Command {
        let Setup { down, path, rtt, duration, what } = self.setup;
        let program = quoted(&self.program.display().to_string());
        let advice = match scheme.advice_request() {
            Some(_) => format!(" --advice {} --advice-rtt {rtt}", quoted(&format!("causal:{down}"))),
            None => String::new(),
        };
        let server = format!(
            "exec {program} serve --quiet --listen 0.0.0.0:{PORT} --http {} --scheme {}{advice}",
            quoted(&self.site.display().to_string()),
            quoted(scheme.text())
        );
        let query = match what {
            What::Film | What::Page => String::new(),
            // 60 frames a second are the server's own choice.
            What::Frames(rate) => format!("&bytes={}", rate.as_bytes_per_sec() / 60),
        };
        let browser = format!(
            "{} {FLAGS} --user-data-dir={} --origin-to-force-quic-on=$MAHIMAHI_BASE:{PORT} \
             --ignore-certificate-errors-spki-list={} \"https://$MAHIMAHI_BASE/?seconds={}{query}\" & read _; kill $!; wait",
            self.browser,
            quoted(&profile.display().to_string()),
            self.key,
            duration.as_secs_f64()
        );
        let mut command = Command::new(&self.program);
        command.args(["shell", "--down", down]).args(path).args(["--server-log", "off", "--server", &server]);
        command.args(["--", "sh", "-c", &browser]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }
}

/// What a line of the browser's log holds of the page.
fn said(line: &str) -> Option<Result<Said, serde_json::Error>> {
    let (_, rest) = line.split_once(MARK)?;
    let (text, _) = rest.rsplit_once(END)?;
    Some(serde_json::from_str(text))
}

/// A word of a shell's line.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
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

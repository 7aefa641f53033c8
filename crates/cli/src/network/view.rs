//! `cellcc view`: the report of a folder in a browser of this machine, while its runs go on.
//!
//! Other users of the machine, and other pages in the same browser, also reach the port. So the address has a secret, a request
//! must name its own host (a name that an attacker points at 127.0.0.1 is another one), and no file is opened by a name in a
//! request.

#![allow(clippy::disallowed_methods, reason = "a page is served, and read again after some time")]

use super::process::{runtime, signals};
use crate::exit::{Exit, print, tell};
use crate::terminal::quoted;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use cellcc_http_port::{Bounds, Port, answer};
use cellcc_report::{Report, ReportFile};
use cellcc_runner::{Results, RunInfo, RunnerError, SeriesOf, State as Progress, with_causes};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::time::timeout;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc compare --scenario plan.toml --out results &
  cellcc view results

The address works only on this machine. Ctrl-C ends the view; the runs continue.")]
pub(crate) struct Args {
    /// Output folder of `compare`, finished or not.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Port on 127.0.0.1 [default: a free one].
    #[arg(long)]
    port: Option<u16>,
    /// Print only errors on standard error.
    #[arg(long, short)]
    quiet: bool,
}

/// A browser opens six connections to one host.
const BOUNDS: Bounds = Bounds::of(64);
/// A connection ends after this long, whether its peer reads or not. Ours: a page of 5 MB is read in a second.
const LONGEST: Duration = Duration::from_secs(60);
/// The folder is read no more often: by then a page asks again.
const PERIOD: Duration = Duration::from_secs(2);
/// Reading and drawing take at most one part in so many of the time, as the runs want the processors.
const SHARE: u32 = 10;

pub(super) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let shown = Shown::read(&args.folder).map_err(|error| match error {
        RunnerError::NoResults { .. } => {
            let (problem, folder) = (with_causes(&error), quoted(&args.folder));
            Exit::input(format!("{problem}; `cellcc compare --out {folder}` begins some"))
        }
        other => other.into(),
    })?;
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).map_err(|error| Exit::failed(format!("no random numbers: {error}")))?;
    let token = format!("{:032x}", u128::from_be_bytes(secret));
    runtime()?.block_on(async {
        let wanted = args.port.unwrap_or(0);
        let port = Port::bind((Ipv4Addr::LOCALHOST, wanted).into(), BOUNDS).await.map_err(|error| {
            Exit::input(format!(
                "--port {wanted}: {error}; choose another one, or leave it out for a free one"
            ))
        })?;
        let number = port.address().map_or(wanted, |address| address.port());
        let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{number}"));
        let mut stop = signals();
        print(&format!("http://127.0.0.1:{number}/{token}/"))?;
        if !args.quiet {
            tell("Ctrl-C ends it; who has the address can read the page, on this machine");
        }
        let site = Site { folder: args.folder.clone(), hosts, token, shown: Mutex::new(Arc::new(shown)) };
        let router = Router::new().fallback(respond).with_state(Arc::new(site));
        let serve = port.serve(tell, move |socket, _| {
            let answered = answer(socket, router.clone(), BOUNDS.patience);
            async move {
                // How a connection ends does not matter here.
                let _ = timeout(LONGEST, answered).await;
            }
        });
        tokio::select! {
            () = serve => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The served page, and its clients.
struct Site {
    folder: PathBuf,
    /// The names of this port.
    hosts: [String; 2],
    token: String,
    shown: Mutex<Arc<Shown>>,
}

/// The content of the folder when it was read.
struct Shown {
    files: Vec<ReportFile>,
    /// When it is read again, at the earliest.
    due: Instant,
}

impl Shown {
    fn read(folder: &Path) -> Result<Self, RunnerError> {
        let begun = Instant::now();
        let Results { info, records } = match Results::read_with(folder, SeriesOf::FirstSeeds) {
            Err(RunnerError::Unfinished { .. }) => Results::read_unfinished(folder, SeriesOf::FirstSeeds)?,
            other => other?,
        };
        let words = words(&info, records.len());
        let progress = serde_json::json!({ "words": words, "is_running": info.state == Progress::Running });
        let mut files = Report::new(&info.title, &records, &info.baseline).live_files(&words);
        let scripts = [
            ("run-info.js", info.script()),
            ("progress.js", format!("cellccPart({{\"progress\": {progress}}});\n")),
        ];
        files.extend(scripts.map(|(name, content)| ReportFile { name: name.into(), content }));
        Ok(Self { files, due: Instant::now() + (begun.elapsed() * SHARE).max(PERIOD) })
    }
}

/// How far the runs are.
fn words(info: &RunInfo, finished: usize) -> String {
    let failed = match info.failures.len() {
        0 => String::new(),
        count => format!(", {count} have failed"),
    };
    let how = match info.state {
        Progress::Running => "; the page shows more when there is more",
        Progress::Interrupted => "; the others were interrupted, and --resume goes on with them",
        Progress::Complete => "",
    };
    format!("{finished} of {} runs are finished{failed}{how}", info.plan.len())
}

impl Site {
    /// The page of now.
    async fn shown(&self) -> Arc<Shown> {
        let mut shown = self.shown.lock().await;
        if shown.due < Instant::now() {
            let folder = self.folder.clone();
            // A folder that cannot be read while its last run is being written can be read a moment later.
            if let Ok(Ok(now)) = tokio::task::spawn_blocking(move || Shown::read(&folder)).await {
                *shown = Arc::new(now);
            }
        }
        Arc::clone(&shown)
    }

    /// True for the secret; how long it takes to say so tells nothing of it.
    fn is_secret(&self, word: &str) -> bool {
        let differing =
            word.bytes().zip(self.token.bytes()).fold(0, |differing, (one, other)| differing | (one ^ other));
        word.len() == self.token.len() && differing == 0
    }
}

/// Headers of all answers: no cache keeps them, no other page frames them, and the address leaks to no site.
const HEADERS: [(&str, &str); 5] = [
    ("cache-control", "no-store"),
    ("content-security-policy", "frame-ancestors 'none'"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
];

async fn respond(State(site): State<Arc<Site>>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let refused = |status: StatusCode, why: &'static str| (status, HEADERS, why).into_response();
    if method != Method::GET && method != Method::HEAD {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "this page is only read\n");
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| site.hosts.iter().any(|own| own == host)) {
        return refused(StatusCode::FORBIDDEN, "take the address that `cellcc view` has printed\n");
    }
    let words = uri.path().strip_prefix('/').and_then(|path| path.split_once('/'));
    let Some((_, name)) = words.filter(|(secret, _)| site.is_secret(secret)) else {
        return refused(StatusCode::NOT_FOUND, "take the address that `cellcc view` has printed\n");
    };
    let name = if name.is_empty() { "report.html" } else { name };
    let shown = site.shown().await;
    let Some(file) = shown.files.iter().find(|file| file.name == name) else {
        return refused(StatusCode::NOT_FOUND, "there is no such file\n");
    };
    let kind = if name.ends_with(".html") { "html" } else { "javascript" };
    let kind = [(header::CONTENT_TYPE, format!("text/{kind}; charset=utf-8"))];
    (HEADERS, kind, Bytes::from(file.content.clone())).into_response()
}

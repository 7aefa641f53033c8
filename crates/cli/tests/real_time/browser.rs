//! Headless Chromium, in real time, by its DevTools protocol.

use crate::HANG_TIMEOUT;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::stream::MaybeTlsStream;
use tokio_tungstenite::tungstenite::{Message, WebSocket, connect};

const NAMES: [&str; 2] = ["chromium", "chromium-browser"];

/// A browser with one page; dropping it ends it.
pub(crate) struct Browser {
    process: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    page: String,
    last_id: u64,
    /// The addresses that the page has requested.
    pub(crate) requested: Vec<String>,
    _profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser {
    /// `None` where Chromium is not installed. No name resolves in it. It takes the certificates of any authority.
    pub(crate) fn start() -> Option<Self> {
        Self::with(&["--ignore-certificate-errors".into()])
    }

    /// `None` where Chromium is not installed. No name resolves in it.
    pub(crate) fn with(flags: &[String]) -> Option<Self> {
        let name = NAMES.into_iter().find(|name| {
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        })?;
        let profile = tempfile::tempdir().unwrap();
        let mut process = Command::new(name)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args([
                "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
                "--disable-background-networking",
            ])
            .args(flags)
            .args(["--remote-debugging-port=0", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            // One that is killed leaves a folder there.
            .env("TMPDIR", profile.path())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = lines
            .find_map(|line| line.ok()?.strip_prefix("DevTools listening on ").map(str::to_owned))
            .expect("Chromium says where it listens");
        // Its later output needs a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let (socket, _) = connect(address).unwrap();
        let mut browser = Self {
            process,
            socket,
            page: String::new(),
            last_id: 0,
            requested: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.page = browser.call("Target.attachToTarget", attach)["sessionId"].as_str().unwrap().into();
        browser.call("Network.enable", json!({}));
        Some(browser)
    }

    /// Goes to an address, in a window of this width.
    pub(crate) fn open(&mut self, address: &str, width: u32) {
        self.resize(width);
        self.call("Page.navigate", json!({"url": address}));
    }

    pub(crate) fn resize(&mut self, width: u32) {
        let window = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", window);
    }

    /// The value of a JavaScript expression.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        self.call("Runtime.evaluate", asked)["result"]["value"].take()
    }

    /// Waits until an expression is true; how long that took.
    pub(crate) fn until(&mut self, expression: &str) -> Duration {
        let start = Instant::now();
        while self.value(expression) != json!(true) {
            let text = self.value("document.body.innerText");
            assert!(start.elapsed() < HANG_TIMEOUT, "never true: {expression}\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
        start.elapsed()
    }

    /// The page as a picture, PNG in base64.
    pub(crate) fn picture(&mut self) -> String {
        let asked = json!({"format": "png", "captureBeyondViewport": true});
        self.call("Page.captureScreenshot", asked)["data"].as_str().unwrap().to_owned()
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut asked = json!({"id": self.last_id, "method": method, "params": parameters});
        if !self.page.is_empty() {
            asked["sessionId"] = json!(self.page);
        }
        self.socket.send(Message::text(asked.to_string())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else { continue };
            let mut reported: Value = serde_json::from_str(&text).unwrap();
            if reported["method"] == "Network.requestWillBeSent" {
                self.requested.push(reported["params"]["request"]["url"].as_str().unwrap().to_owned());
            }
            if reported["id"] == json!(self.last_id) {
                assert!(reported["error"].is_null(), "{method}: {}", reported["error"]);
                return reported["result"].take();
            }
        }
    }
}

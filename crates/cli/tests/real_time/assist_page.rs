//! The page of the live cell: the service as a process of its own, in headless Chromium.

use crate::browser::Browser;
use crate::common::{AssistService, cellcc};
use cellcc_netassist_client::{Client, ClientSettings, Credentials, Role, ServiceAddress};
use cellcc_test_support::{alone, needs_punctuality, skip};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Alice's rate changes each half second, and Bob's does not; a third has none.
const CONFIG: &str = r#"
listen = "127.0.0.1:0"
credentials = "keys/service-edge"
https = "127.0.0.1:0"
audit_log = "audit.jsonl"
live_flows = "assumed"

[[user]]
name = "alice"
addresses = ["10.45.0.2"]

[[user]]
name = "bob-with-a-name-of-sixty-four-characters-which-is-a-longest-name"
addresses = ["10.45.0.3"]

[[user]]
name = "carol"
addresses = ["10.45.0.4"]

[[source]]
kind = "trace"
user = "alice"
link = "lte-drive"
knows = "causal"
network_rtt = "20ms"

[[source]]
kind = "trace"
user = "bob-with-a-name-of-sixty-four-characters-which-is-a-longest-name"
link = "rate=12Mbit/s"
knows = "causal"
network_rtt = "20ms"
"#;

struct Service {
    serve: AssistService,
    quic: String,
    page: String,
}

impl Service {
    /// In a folder with certificates, with this configuration.
    fn start(folder: &Path, config: &str) -> Self {
        let mut serve = AssistService::start(folder, config);
        let mut address = |start| serve.says(start).split(',').next().unwrap_or_default().to_owned();
        let (quic, page) = (address("listening on quic://"), address("page "));
        Self { serve, quic, page }
    }

    /// A link to the page that holds for so long.
    fn link(&self, folder: &Path, lasts: &str) -> String {
        let output = cellcc(folder)
            .args(["assist", "page", &self.page, "--service", "edge", "--for", lasts])
            .args(["--credentials", "keys/operator-desk"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

fn with_keys() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let made = cellcc(folder.path()).args(["assist", "certificates", "keys"]).output().unwrap();
    assert!(made.status.success());
    folder
}

/// Text of the cell in this column of a user's row.
fn cell(user: &str, column: &str) -> String {
    format!(
        "[...document.querySelectorAll('#users tr')].find((row) => row.firstChild.textContent.startsWith('{user}'))\
         ?.querySelector('td[data-label=\"{column}\"]').textContent"
    )
}

const STATE: &str = "document.getElementById('state').textContent";

/// Waits until the state begins with this text; fails after the time in which a service that is gone has to show as such.
fn shows_within_two_seconds(browser: &mut Browser, state: &str) {
    let took = browser.until(&format!("{STATE}.startsWith('{state}')"));
    assert!(took < Duration::from_secs(2), "it took {took:?}");
}

#[test]
fn the_page_shows_live_numbers_and_who_is_informed() {
    let _alone = alone();
    let Some(mut browser) = Browser::start() else {
        return skip("chromium is not installed (apt-get install chromium)");
    };
    let folder = with_keys();
    let service = Service::start(folder.path(), CONFIG);
    browser.open(&service.link(folder.path(), "1h"), 1400);
    browser.until(&format!("{STATE} === 'live'"));
    browser.until("document.querySelectorAll('#users tr').length === 2");
    assert_eq!(browser.value(&cell("bob", "reported, Mbit/s")), "12.00backlogged");
    let reported = cell("alice", "reported, Mbit/s");
    let first = browser.value(&reported);
    browser.until(&format!("{reported} !== {first}"));

    let servers = cell("alice", "servers that are informed");
    assert_eq!(browser.value(&servers), "none");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _running = runtime.enter();
    let credentials = Credentials::load(&folder.path().join("keys/server-video-1"), Role::Server).unwrap();
    let address = ServiceAddress::Quic(service.quic.parse().unwrap());
    let server = Client::start(ClientSettings { service: address, credentials }, |_| {}).unwrap();
    server.want("10.45.0.2".parse().unwrap(), 1, None);
    browser.until(&format!("{servers} === 'video-1live flow'"));
    assert_eq!(browser.value("document.querySelector('#assisted dd').textContent"), "1");
    assert_eq!(browser.value("document.querySelector('#unassisted dd').textContent"), "1");

    for width in [1400, 390] {
        browser.resize(width);
        let out_of_sight = browser.value("document.documentElement.scrollWidth - innerWidth");
        assert!(out_of_sight.as_i64().unwrap() <= 0, "{out_of_sight} pixels at {width}");
        // For people who want to look at it.
        if let Ok(folder) = std::env::var("CELLCC_PICTURES") {
            fs::write(format!("{folder}/page-{width}.base64"), browser.picture()).unwrap();
        }
    }
    let is_ours = |address: &String| address.starts_with(&service.page) || address.starts_with("data:");
    assert!(browser.requested.iter().all(is_ours), "{:?}", browser.requested);
    assert!(browser.requested.iter().any(|address| address.ends_with("/events")), "they are seen");
    let audit = fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    assert!(audit.contains(r#""client":"operator/desk","address":"127.0.0.1","event":"page""#), "{audit}");
}

mod punctual {
    use super::*;

    #[test]
    fn a_service_that_is_stopped_or_killed_is_shown_as_gone_and_one_that_comes_back_as_live() {
        needs_punctuality(|| {
            let Some(mut browser) = Browser::start() else {
                return skip("chromium is not installed (apt-get install chromium)");
            };
            let folder = with_keys();
            let mut service = Service::start(folder.path(), CONFIG);
            browser.open(&service.link(folder.path(), "1h"), 1400);
            browser.until(&format!("{STATE} === 'live'"));
            service.serve.signal("STOP");
            shows_within_two_seconds(&mut browser, "no word from the service");
            service.serve.signal("CONT");
            browser.until(&format!("{STATE} === 'live'"));
            service.serve.process.kill().unwrap();
            service.serve.process.wait().unwrap();
            shows_within_two_seconds(&mut browser, "no word from the service");
            // A fixed address, as after a restart.
            let address = service.page.strip_prefix("https://").unwrap().trim_end_matches('/');
            let again = CONFIG.replace("https = \"127.0.0.1:0\"", &format!("https = \"{address}\""));
            let _service = Service::start(folder.path(), &again);
            browser.until(&format!("{STATE} === 'live'"));
        });
    }

    #[test]
    fn a_link_whose_time_is_over_shows_no_more() {
        // The page has to be there within the three seconds.
        needs_punctuality(|| {
            let Some(mut browser) = Browser::start() else {
                return skip("chromium is not installed (apt-get install chromium)");
            };
            let folder = with_keys();
            let service = Service::start(folder.path(), CONFIG);
            browser.open(&service.link(folder.path(), "3s"), 390);
            browser.until(&format!("{STATE} === 'live'"));
            browser.until(&format!("{STATE}.startsWith('this link does not hold')"));
        });
    }
}

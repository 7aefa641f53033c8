//! Events of networks on a connection: transfers go on, or end with an error; none hangs.

use crate::support::faults::Faults;
use crate::support::{self, HANG_TIMEOUT, Pair};
use cellcc_quic::{Attached, Congestion};
use cellcc_test_support::{KINDS, alone};
use noq::{ConnectionError, TransportConfig};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const STREAMS: usize = 4;
const KEEP_ALIVE: Duration = Duration::from_millis(500);

/// A transfer that goes on until it is dropped.
struct Transfer {
    pair: Pair,
    _attached: Attached,
    faults: Arc<OnceLock<Faults>>,
    received: Arc<AtomicU64>,
}

impl Transfer {
    async fn start(scheme: &str, idle_timeout: Duration) -> Self {
        let congestion = Congestion::named(scheme).unwrap();
        let transport = || {
            let mut transport = TransportConfig::default();
            transport.max_idle_timeout(Some(idle_timeout.try_into().unwrap()));
            transport
        };
        let mut server = transport();
        congestion.install(&mut server);
        let faults = Arc::new(OnceLock::new());
        let way = async |server| {
            let (relay, address) = Faults::start(server).await;
            assert!(faults.set(relay).is_ok());
            address
        };
        let mut client = transport();
        // A pure receiver sends nothing when nothing comes any more; a new port shows when it sends.
        client.keep_alive_interval(Some(KEEP_ALIVE));
        let pair = support::connect_via(way, server, client).await;
        let attached = congestion.attach(&pair.server).expect("installed");
        let received = Arc::new(AtomicU64::new(0));
        for _ in 0..STREAMS {
            let (server, client, received) = (pair.server.clone(), pair.client.clone(), received.clone());
            tokio::spawn(async move {
                let Ok(mut out) = server.open_uni().await else { return };
                while out.write_all(&[7; 10_000]).await.is_ok() {}
            });
            tokio::spawn(async move {
                let Ok(mut stream) = client.accept_uni().await else { return };
                while let Ok(Some(chunk)) = stream.read_chunk(1 << 16).await {
                    received.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                }
            });
        }
        Self { pair, _attached: attached, faults, received }
    }

    fn faults(&self) -> &Faults {
        self.faults.get().expect("started")
    }

    /// Waits until `bytes` more have arrived, as long as some arrive in each [`HANG_TIMEOUT`]: the speed of a window of two
    /// packets depends on the losses, and on the machine's other load.
    async fn carries(&self, what: &str, bytes: u64) {
        let received = || self.received.load(Ordering::Relaxed);
        let goal = received() + bytes;
        while received() < goal {
            let before = received();
            let more = async {
                while received() == before {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            let goes_on = tokio::time::timeout(HANG_TIMEOUT, more).await.is_ok();
            let end = self.pair.server.close_reason();
            assert!(goes_on, "{what}: {} bytes are missing; the connection: {end:?}", goal - before);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_go_on_while_three_packets_in_ten_are_lost() {
    let _alone = alone();
    for scheme in KINDS {
        let transfer = Transfer::start(scheme, HANG_TIMEOUT).await;
        transfer.faults().lose(30);
        transfer.carries(&format!("{scheme}, 30 % loss"), 200_000).await;
        transfer.faults().lose(0);
        transfer.carries(&format!("{scheme}, after 30 % loss"), 1_000_000).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_go_on_after_two_seconds_without_a_packet() {
    let _alone = alone();
    let mut transfers = Vec::new();
    for scheme in KINDS {
        transfers.push((scheme, Transfer::start(scheme, HANG_TIMEOUT).await));
    }
    for (scheme, transfer) in &transfers {
        transfer.carries(&format!("{scheme}, before the outage"), 500_000).await;
    }
    transfers.iter().for_each(|(_, transfer)| transfer.faults().go_dark(true));
    // Time for the probe timeout to double four times. The virtual-time driver has an outage of ten seconds.
    tokio::time::sleep(Duration::from_secs(2)).await;
    transfers.iter().for_each(|(_, transfer)| transfer.faults().go_dark(false));
    for (scheme, transfer) in &transfers {
        transfer.carries(&format!("{scheme}, after the outage"), 500_000).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_go_on_when_a_nat_gives_the_client_another_port() {
    let _alone = alone();
    for scheme in KINDS {
        let transfer = Transfer::start(scheme, HANG_TIMEOUT).await;
        transfer.carries(&format!("{scheme}, at first"), 500_000).await;
        for _ in 0..3 {
            transfer.faults().rebind().await;
            transfer.carries(&format!("{scheme}, at another port"), 500_000).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_stays_dark_ends_the_connection_with_a_time_out() {
    // No machine that goes on keeps a live path silent for so long.
    let transfer = Transfer::start("reminis", Duration::from_secs(5)).await;
    transfer.carries("before", 500_000).await;
    transfer.faults().go_dark(true);
    let ended = tokio::time::timeout(HANG_TIMEOUT, async {
        tokio::join!(transfer.pair.server.closed(), transfer.pair.client.closed())
    });
    let (server, client) = ended.await.expect("no hang");
    assert!(matches!(server, ConnectionError::TimedOut), "{server:?}");
    assert!(matches!(client, ConnectionError::TimedOut), "{client:?}");
}

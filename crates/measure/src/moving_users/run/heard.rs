//! The times at which a sender first received reports on a user from another site than before.

use super::sites::SITES;
use anyhow::Result;
use cellcc_control::Advice;
use cellcc_quic::advice::{AdviceService, AdviceSource, NextAdvice};
use cellcc_units::Span;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the kernel's map is looked at: a fiftieth of a period.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// A site whose reports a sender has begun to receive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Began {
    pub(crate) user: IpAddr,
    pub(crate) site: usize,
    pub(crate) at: Instant,
}

/// All changes of a sender's reporting site. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SiteChanges(Arc<Mutex<Vec<Began>>>);

impl SiteChanges {
    pub(crate) fn all(&self) -> Vec<Began> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Advice with this minimum RTT has reached the sender.
    fn hear(&self, user: IpAddr, min_rtt: Span) {
        let (at, site) = (Instant::now(), site_of(min_rtt));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = all.iter().rev().find(|began| began.user == user);
        if last.is_none_or(|last| last.site != site) {
            all.push(Began { user, site, at });
        }
    }
}

/// The radio's part of the minimum RTT is a packet's time on the link, half a millisecond to four: less than the difference of
/// the sites.
fn site_of(min_rtt: Span) -> usize {
    let [_, (_, south)] = SITES;
    usize::from(min_rtt >= south)
}

/// Watches a kernel map's reports on users, until it is dropped.
pub(crate) struct KernelWatch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for KernelWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// `map`: the advice of the kernel's schemes.
pub(crate) fn watch_kernel(map: MapHandle, users: &[IpAddr], heard: SiteChanges) -> KernelWatch {
    let (stop, users) = (Arc::new(AtomicBool::new(false)), users.to_vec());
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            for &user in &users {
                if let Ok(Some(min_rtt)) = reported(&map, user) {
                    heard.hear(user, min_rtt);
                }
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    });
    KernelWatch { stop, thread: Some(thread) }
}

/// The minimum RTT that the map has of a user; `None` before the first report.
fn reported(map: &MapHandle, user: IpAddr) -> Result<Option<Span>> {
    let key = match user {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => Ipv6Addr::octets(&address),
    };
    let value = map.lookup(&key, MapFlags::ANY)?;
    // `AdviceValue`: bandwidth and time, of 8 bytes each, come first.
    Ok(value.and_then(|value| {
        Some(Span::from_micros(u32::from_ne_bytes(value.get(16..20)?.try_into().ok()?).into()))
    }))
}

/// A source of advice that logs the reports to the schemes.
#[derive(Debug)]
pub(crate) struct Observed<S> {
    pub(crate) service: S,
    pub(crate) heard: SiteChanges,
}

impl<S: AdviceService> AdviceService for Observed<S> {
    fn for_peer(&self, peer: IpAddr) -> Box<dyn AdviceSource> {
        Box::new(ObservedPeer {
            source: self.service.for_peer(peer),
            peer: peer.to_canonical(),
            heard: self.heard.clone(),
        })
    }
}

struct ObservedPeer {
    source: Box<dyn AdviceSource>,
    peer: IpAddr,
    heard: SiteChanges,
}

impl AdviceSource for ObservedPeer {
    fn next(&mut self) -> NextAdvice<'_> {
        Box::pin(async move {
            let advice: Advice = self.source.next().await?;
            if let Some(parts) = advice.min_rtt {
                self.heard.hear(self.peer, parts.total());
            }
            Some(advice)
        })
    }
}

//! A Scenario's path as links: the same ones for every driver.

use crate::{Path, Randomness, ResolveError, Scenario};
use cellcc_link::{
    Bottleneck, Capacities, Capacity, Delay, ForwardPath, Jitter, Link, LinkConfig, Packet, PathConfig,
    Queue, ReorderingConfig, ShareOverTime, StepsError, TraceCache,
};
use cellcc_units::{Bytes, QueueLimit, Time};
use std::fmt::Display;
use std::sync::Arc;

/// The links of a run.
///
/// Each random part has a seed of its own, which the Scenario's seed and the part decide ([`Scenario::seed_of`]). So
/// the losses of one direction stay the same when the other changes.
#[derive(Debug, Clone)]
pub struct PathLinks {
    /// The path towards the receivers.
    pub forward: PathConfig,
    /// The path back from the receivers, with the grain of the forward path.
    pub reverse: LinkConfig,
    /// Decides which acknowledgements are lost.
    pub reverse_seed: u64,
}

impl PathLinks {
    /// The path of a Scenario over links of these capacities.
    ///
    /// # Errors
    /// A request of the Scenario that no link meets.
    pub fn new(scenario: &Scenario, capacities: &Capacities) -> Result<Self, ResolveError> {
        if scenario.cell.is_some() && matches!(scenario.path.queue, Queue::Abc(_)) {
            return Err(ResolveError(
                "the queue `abc` reads the link's rate, which users of a cell share: leave the cell out, or name another queue"
                    .into(),
            ));
        }
        let Path { reordered, reordered_by, grain, reverse, .. } = &*scenario.path;
        if scenario.cell.is_some() && !grain.is_zero() {
            return Err(ResolveError(format!(
                "path.grain = \"{grain}\" applies to Mahimahi's links, and a cell has its own slots: omit one of the two"
            )));
        }
        let delay = scenario.forward_delay()?;
        let loss = ShareOverTime::with_extra(scenario.path.loss, &scenario.path.extra_loss)
            .map_err(|error| ResolveError(format!("extra loss: {error}")))?;
        let config = |capacity: &Arc<Capacity>| -> Result<LinkConfig, ResolveError> {
            Ok(LinkConfig {
                capacity: Arc::clone(capacity),
                queue: scenario.queue_before(capacity, scenario.path.queue, scenario.endpoint.packet())?,
                delay: delay.clone(),
                jitter: Jitter {
                    up_to: scenario.path.jitter,
                    correlated: scenario.path.correlated_jitter,
                    reorders: scenario.path.jitter_reorders,
                },
                loss: loss.clone(),
                burst_loss: scenario.path.burst_loss,
                access: scenario.path.access,
                harq: scenario.path.harq,
            })
        };
        let bottleneck = match &scenario.cell {
            None => Bottleneck::Link(config(&capacities.forward[0])?),
            Some(cell) => Bottleneck::Cell {
                users: capacities.forward.iter().map(config).collect::<Result<_, _>>()?,
                scheduler: cell.scheduler.parse().map_err(refused)?,
            },
        };
        Ok(Self {
            forward: PathConfig {
                policer: scenario.path.policer,
                bottleneck,
                grain: *grain,
                reordering: (!reordered.is_never()).then(|| ReorderingConfig {
                    share: reordered.clone(),
                    by: *reordered_by,
                    seed: scenario.seed_of(Randomness::Reordering),
                }),
                seed: scenario.seed_of(Randomness::ForwardLoss),
            },
            reverse: LinkConfig {
                capacity: Arc::clone(&capacities.reverse),
                queue: scenario.queue_before(&capacities.reverse, reverse.queue, scenario.endpoint.header)?,
                delay: scenario.reverse_delay()?,
                jitter: Jitter::NONE,
                loss: ShareOverTime::constant(reverse.loss),
                burst_loss: reverse.burst_loss,
                access: reverse.access,
                harq: reverse.harq,
            },
            reverse_seed: scenario.seed_of(Randomness::ReverseLoss),
        })
    }

    /// The forward path.
    pub fn forward<P: Packet>(&self) -> ForwardPath<P> {
        ForwardPath::new(self.forward.clone())
    }

    /// The reverse path.
    pub fn reverse<P: Packet>(&self) -> Link<P> {
        Link::with_grain(self.reverse.clone(), self.reverse_seed, self.forward.grain)
    }
}

impl Scenario {
    /// Checks the path, and fills in the parts left to the driver: the content of its files, the trace's hash.
    ///
    /// # Errors
    /// A user that is not there, a file or a link that cannot be read, a schedule that makes no sense.
    pub fn resolve_path(&mut self, traces: &TraceCache) -> Result<(), ResolveError> {
        self.check_users()?;
        let path = &mut *self.path;
        for extra in [&mut path.extra_delay, &mut path.reverse.extra_delay] {
            Delay::spell_out(extra).map_err(no_delay)?;
        }
        ShareOverTime::spell_out(&mut path.extra_loss)
            .map_err(|error| ResolveError(format!("extra loss: {error}")))?;
        let trace = traces.open(&self.trace).map_err(refused)?;
        self.trace_offset = self.drawn_offset(trace.capacity.period());
        self.trace_sha256 = trace.hash;
        let capacities = self.capacities(traces)?;
        PathLinks::new(self, &capacities)?;
        self.check_capacities(&capacities)?;
        Ok(())
    }

    /// Refuses a link that carries not even one packet in the whole run: nothing could be measured.
    fn check_capacities(&self, Capacities { forward, reverse, .. }: &Capacities) -> Result<(), ResolveError> {
        let users = self.cell.iter().flat_map(|cell| &cell.users);
        let forward = std::iter::once(&self.trace).chain(users).zip(forward);
        let forward = forward.map(|(name, capacity)| (name, capacity, self.endpoint.packet()));
        let links = forward.chain([(&self.path.reverse.trace, reverse, self.endpoint.header)]);
        for (name, capacity, packet) in links {
            let carried = capacity.bytes_between(Time::ZERO, Time::ZERO + self.duration);
            if carried < packet {
                return Err(ResolveError(format!(
                    "`{name}` carries {carried} in the {} of the run, and a packet has {packet}: name a faster link, or \
                     write a longer --duration",
                    self.duration
                )));
            }
        }
        Ok(())
    }

    /// A queue before a link: one in bandwidth-delay products is in bytes, of the link's mean rate and the base round-trip time.
    ///
    /// # Errors
    /// No packet would fit into such a queue.
    fn queue_before(&self, capacity: &Capacity, queue: Queue, packet: Bytes) -> Result<Queue, ResolveError> {
        let mean = capacity.mean_rate();
        let bytes = queue.on_path(mean.bytes_in(self.path.rtt));
        match bytes.limit() {
            QueueLimit::Bytes(limit) if bytes != queue && limit < packet => Err(ResolveError(format!(
                "queue {queue}: that is {limit} for the {mean} of the link's mean and a round-trip time of {}, and a packet has \
                 {packet}; write more, or a number of packets such as 10pkt",
                self.path.rtt
            ))),
            _ => Ok(bytes),
        }
    }

    /// Capacities of the run's links, each from the Scenario's offset on: traces recorded together stay aligned.
    ///
    /// # Errors
    /// A link that cannot be opened.
    pub fn capacities(&self, traces: &TraceCache) -> Result<Capacities, ResolveError> {
        let users = self.cell.iter().flat_map(|cell| &cell.users);
        let forward = std::iter::once(&self.trace).chain(users);
        let capacities = traces.open_all(forward, &self.path.reverse.trace).map_err(refused)?;
        Ok(if self.trace_offset.is_zero() { capacities } else { capacities.beginning_at(self.trace_offset) })
    }

    /// The delay from the link to the receivers: half the round-trip time, plus the Scenario's extra delay over time.
    ///
    /// # Errors
    /// An addition that cannot be read.
    pub fn forward_delay(&self) -> Result<Delay, ResolveError> {
        Delay::with_extra(self.path.rtt / 2, &self.path.extra_delay).map_err(no_delay)
    }

    /// The delay from the receivers back: the other half, and an extra delay of its own.
    ///
    /// # Errors
    /// As [`forward_delay`](Self::forward_delay).
    pub fn reverse_delay(&self) -> Result<Delay, ResolveError> {
        let half = self.path.rtt.saturating_sub(self.path.rtt / 2);
        Delay::with_extra(half, &self.path.reverse.extra_delay).map_err(no_delay)
    }
}

fn no_delay(error: StepsError) -> ResolveError {
    ResolveError(format!("extra delay: {error}"))
}

fn refused(error: impl Display) -> ResolveError {
    ResolveError(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queues of the link and of the reverse path.
    fn queues(trace: &str, path: &str) -> Result<[String; 2], String> {
        let scenario = format!(
            "scheme = 'cubic'\ntrace = '{trace}'\nseed = 1\nduration = '60s'\nflows = []\n[path]\nrtt = '40ms'\n{path}"
        );
        let scenario: Scenario = toml::from_str(&scenario).unwrap();
        let capacities = scenario.capacities(&TraceCache::default()).unwrap();
        let links = PathLinks::new(&scenario, &capacities).map_err(|error| error.to_string())?;
        Ok([&links.forward.links()[0], &links.reverse].map(|link| link.queue.to_string()))
    }

    #[test]
    fn a_queue_in_bandwidth_delay_products_is_of_the_links_mean_rate_and_the_base_round_trip_time() {
        let forward = |trace: &str, path: &str| queues(trace, path).unwrap()[0].clone();
        assert_eq!(forward("rate=10Mbit/s", "queue = '2bdp'"), "100kB");
        assert_eq!(forward("rate=10Mbit/s", "queue = '0.5bdp'\nextra_delay = '1s'"), "25kB");
        assert_eq!(forward("step=10Mbit/s@10s,40Mbit/s@20s", "queue = '1bdp'"), "150kB");
        assert_eq!(forward("rate=10Mbit/s", "queue = 'codel(limit=2bdp)'"), "codel(limit=100kB)");
        let reverse = "reverse = { trace = 'rate=1Mbit/s', queue = '1bdp' }";
        assert_eq!(queues("3g", reverse).unwrap(), ["3200pkt", "5kB"]);
        let refused = queues("rate=100kbit/s", "queue = '1bdp'").unwrap_err();
        for part in ["queue 1bdp", "500B", "100kbit/s", "40ms", "1.5kB", "10pkt"] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
    }
}

//! The cells whose base stations' hosts answer echoes.

use super::config::CellConfig;
use super::error::DaemonError;
use crate::clock::ServiceClock;
use crate::probe::{ProbeCounts, Prober};
use crate::sample::Sample;
use cellcc_assist::{BaseRtt, Knowledge};
use cellcc_units::Span;
use std::collections::HashMap;

/// More echoes a second would be a load.
const SHORTEST_INTERVAL: Span = Span::from_millis(1);

/// A prober for each of the cells.
#[derive(Debug, Clone, Default)]
pub(super) struct Probes(HashMap<u32, Prober>);

impl Probes {
    pub(super) async fn open(cells: &[CellConfig], clock: ServiceClock) -> Result<Self, DaemonError> {
        let mut probes = HashMap::new();
        for CellConfig { pci, echo, interval } in cells {
            let failed =
                |problem: String| DaemonError::Source { which: format!("echoes to {echo}"), problem };
            if *interval < SHORTEST_INTERVAL {
                return Err(failed(format!("an interval of {interval} is too short: at least 1ms")));
            }
            let prober =
                Prober::open(*echo, *interval, clock).await.map_err(|error| failed(error.to_string()))?;
            if probes.insert(u32::from(*pci), prober).is_some() {
                return Err(failed(format!("cell {pci} has another already")));
            }
        }
        Ok(Self(probes))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Prober> {
        self.0.values()
    }

    /// Puts the measurements into the samples of these cells; `None` where nothing comes back.
    pub(super) fn fill(&self, samples: &mut [Sample]) {
        for sample in samples {
            if let Knowledge::Counted(counted) = &mut sample.measured
                && let BaseRtt::ToBaseStation(network) = &mut counted.base_rtt
                && let Some(prober) = self.0.get(&sample.cell)
            {
                *network = prober.minimum();
            }
        }
    }

    pub(super) fn counts(&self) -> ProbeCounts {
        self.all().map(Prober::counts).fold(ProbeCounts::default(), |sum, one| ProbeCounts {
            sent: sum.sent + one.sent,
            answered: sum.answered + one.answered,
            lost: sum.lost + one.lost,
            forged: sum.forged + one.forged,
        })
    }

    /// Cells from which nothing comes back.
    pub(super) fn silent(&self) -> usize {
        self.all().filter(|prober| prober.minimum().is_none()).count()
    }
}

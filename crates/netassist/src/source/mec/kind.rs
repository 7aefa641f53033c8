//! What the configuration has of a MEC platform.

use super::MecReader;
use crate::http_get::{HttpUrl, default_interval};
use crate::source::kind::{Services, SourceKind};
use crate::source::messages::read_messages;
use crate::source::plausible::fastest_cell;
use crate::source::{HttpPoll, Source};
use cellcc_units::{Rate, Span};
use serde::Deserialize;
use std::path::PathBuf;

/// A MEC platform's layer-2 measurements (ETSI GS MEC 012), which are asked for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MecLayer2 {
    /// Where.
    pub url: HttpUrl,
    /// How often.
    #[serde(default = "default_interval")]
    pub interval: Span,
    /// Between the servers' gateway and the base station, both ways, where it is known.
    pub network_rtt: Option<Span>,
    /// The most that a cell carries: a user's rate above this is not believed.
    #[serde(default = "fastest_cell")]
    pub cell_rate: Rate,
    /// Add the messages to this file.
    pub record: Option<PathBuf>,
}

impl SourceKind for MecLayer2 {
    fn reads(&self) -> String {
        self.url.to_string()
    }

    fn file(&mut self) -> Option<&mut PathBuf> {
        self.record.as_mut()
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let input = HttpPoll::new(self.url.clone(), self.interval, services.clock);
        Ok(read_messages(input, self.record.as_deref(), MecReader::new(self.network_rtt), self.cell_rate))
    }
}

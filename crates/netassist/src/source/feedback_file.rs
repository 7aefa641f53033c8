//! A file in the form of the NATCP authors, which begins when the daemon does.

use super::kind::{Services, SourceKind};
use super::{Source, Timetables};
use cellcc_assist::{FeedbackFile, FeedbackPath};
use cellcc_units::Span;
use serde::Deserialize;
use std::path::PathBuf;

/// A file of reports about one user.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedbackSource {
    /// The user's name.
    pub user: String,
    /// The file.
    pub file: PathBuf,
    /// The RTT without the downlink's transmission.
    pub network_rtt: Span,
}

impl SourceKind for FeedbackSource {
    fn reads(&self) -> String {
        self.file.display().to_string()
    }

    fn file(&mut self) -> Option<&mut PathBuf> {
        Some(&mut self.file)
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let path = FeedbackPath { network: self.network_rtt, delay: Span::ZERO };
        let timetable = FeedbackFile::read(&self.file, path).map_err(|error| error.to_string())?;
        services.user(&self.user)?;
        Ok(Box::new(Timetables::of_one(&self.user, Box::new(timetable), services.clock)))
    }
}

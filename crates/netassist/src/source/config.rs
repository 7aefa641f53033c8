//! All kinds of sources, by their names in the configuration.

use super::Source;
use super::counters::CountersSource;
use super::gnb::{GnbRecording, GnbUdp, GnbWebsocket};
use super::host::HostInterface;
use super::kind::{Services, SourceKind};
use super::mec::MecLayer2;
use super::timetables::{FeedbackSource, Trace};
use serde::Deserialize;
use std::path::PathBuf;

/// Makes [`SourceConfig`] of one list. A macro, since serde reads the tag from variants: by hand a kind would stand in the enum
/// and in each of three matches.
macro_rules! kinds {
    ($($name:literal $(| $alias:literal)*: $Kind:ident,)*) => {
        /// A table `[[source]]` of the configuration.
        #[derive(Debug, Clone, Deserialize)]
        #[serde(tag = "kind")]
        #[allow(missing_docs, reason = "each kind says what it is")]
        pub enum SourceConfig {
            $(#[serde(rename = $name $(, alias = $alias)*)] $Kind($Kind),)*
        }

        impl SourceConfig {
            /// Its kind and input, for messages.
            pub(crate) fn which(&self) -> String {
                match self {
                    $(Self::$Kind(kind) => format!("{} {}", $name, kind.reads()),)*
                }
            }

            /// The file that it names, relative to the configuration.
            pub(crate) fn file(&mut self) -> Option<&mut PathBuf> {
                match self {
                    $(Self::$Kind(kind) => kind.file(),)*
                }
            }

            /// Opens it, or says why it cannot.
            pub(crate) async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
                match self {
                    $(Self::$Kind(kind) => kind.open(services).await,)*
                }
            }
        }
    };
}

kinds! {
    "counters" | "flexric": CountersSource,
    "gnb-websocket": GnbWebsocket,
    "gnb-udp": GnbUdp,
    "gnb-recording": GnbRecording,
    "mec-layer2": MecLayer2,
    "trace": Trace,
    "feedback-file": FeedbackSource,
    "host-counters": HostInterface,
}

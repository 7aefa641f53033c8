//! Lines of counters in the [normal form](UserCounters), for operators with counters of their own. `cellcc assist count` and the
//! xApp in `examples/flexric-xapp` write them.
//!
//! A line stands by itself: a wrong one costs only itself, and is counted and named. An empty line means that the cell has no users.

mod line;

use super::{MessageReader, Reading};
use crate::source::kind::{Services, SourceKind};
use crate::source::messages::read_messages;
use crate::source::plausible::fastest_cell;
use crate::source::{Recording, Source, UdpInput};
use cellcc_assist::BaseRtt;
use cellcc_units::{Rate, Span, Time};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::net::SocketAddr;
use std::path::PathBuf;

pub(crate) use line::MAX_PCI;
pub use line::UserCounters;

/// Reads lines. Pure.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountersReader {
    /// The cell of lines that name none.
    pub pci: Option<u16>,
    /// Between the servers' gateway and the base station, both ways, for lines without it.
    pub network_rtt: Option<Span>,
}

impl MessageReader for CountersReader {
    fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Reading, String> {
        let mut reading = Reading::default();
        let text = String::from_utf8_lossy(bytes);
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match UserCounters::parse(line, self.pci) {
                Ok(mut counters) => {
                    if counters.base_rtt == BaseRtt::ToBaseStation(None) {
                        counters.base_rtt = BaseRtt::ToBaseStation(self.network_rtt);
                    }
                    reading.samples.push(counters.sample(now));
                }
                Err(reason) => reading.left_out.add(&format!("line {}: {reason}: {line}", index + 1)),
            }
        }
        Ok(reading)
    }

    /// A line needs none before it.
    fn forget(&mut self) {}
}

/// Lines that arrive in datagrams, or a recording of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountersSource {
    /// Where they arrive, on this machine's loopback.
    #[serde(default, deserialize_with = "crate::address::optional")]
    pub address: Option<SocketAddr>,
    /// A file that `record` wrote, instead.
    pub file: Option<PathBuf>,
    /// The cell of lines that name none.
    pub pci: Option<u16>,
    /// Between the servers' gateway and the base station, both ways, for lines without it.
    pub network_rtt: Option<Span>,
    /// The most that a cell carries: a user's rate above this is not believed.
    #[serde(default = "fastest_cell")]
    pub cell_rate: Rate,
    /// Add the lines to this file.
    pub record: Option<PathBuf>,
    /// A setting of `flexric` that the xApp has now.
    #[serde(default, rename = "resource_blocks_per_second")]
    _resource_blocks_per_second: IgnoredAny,
    /// Another one.
    #[serde(default, rename = "names")]
    _names: IgnoredAny,
}

impl SourceKind for CountersSource {
    fn reads(&self) -> String {
        let file = self.file.as_ref().map(|file| file.display().to_string());
        self.address.map(|address| address.to_string()).or(file).unwrap_or_default()
    }

    fn file(&mut self) -> Option<&mut PathBuf> {
        self.record.as_mut().or(self.file.as_mut())
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let reader = CountersReader { pci: self.pci, network_rtt: self.network_rtt };
        match (self.address, &self.file, &self.record) {
            (Some(address), None, record) => {
                let input =
                    UdpInput::bind(address, services.clock).await.map_err(|error| error.to_string())?;
                Ok(read_messages(input, record.as_deref(), reader, self.cell_rate))
            }
            (None, Some(file), None) => {
                let input = Recording::open(file, services.clock).map_err(|error| error.to_string())?;
                Ok(read_messages(input, None, reader, self.cell_rate))
            }
            _ => Err("it needs either `address`, where lines arrive, or `file`, a recording of them without `record`"
                .into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::SourceName;
    use crate::source::SourceConfig;
    use cellcc_assist::Knowledge;

    fn read(text: &str) -> Reading {
        CountersReader::default().read(Time::ZERO, text.as_bytes()).unwrap()
    }

    #[test]
    fn a_wrong_line_costs_only_itself_and_is_named_with_its_number() {
        let line = |name: &str| format!(r#"{{"user":"{name}","period_ms":50,"served_bytes":75000}}"#);
        let wrong = line("mallory").replace("75000", "-1");
        let reading =
            read(&[&line("alice"), &wrong, "", "\u{fffd}", &line("bob")].map(String::from).join("\r\n"));
        let users: Vec<_> = reading.samples.into_iter().map(|sample| sample.user).collect();
        assert_eq!(users, ["alice", "bob"].map(|name| SourceName::Name(name.into())));
        assert_eq!(reading.left_out.count, 2);
        let reason = reading.left_out.first.unwrap();
        assert!(reason.starts_with("line 2: `served_bytes` is -1") && reason.contains("mallory"), "{reason}");
    }

    #[test]
    fn the_round_trip_of_a_line_comes_before_the_configured_one() {
        let mut reader =
            CountersReader { network_rtt: Some(Span::from_millis(20)), ..CountersReader::default() };
        let mut base_rtt = |field: &str| {
            let line = format!(r#"{{"user":"alice","period_ms":50,"served_bytes":0{field}}}"#);
            let samples = reader.read(Time::ZERO, line.as_bytes()).unwrap().samples;
            let Knowledge::Counted(counted) = samples[0].measured else { panic!("no oracle") };
            counted.base_rtt
        };
        assert_eq!(base_rtt(""), BaseRtt::ToBaseStation(Some(Span::from_millis(20))));
        assert_eq!(base_rtt(r#","network_rtt_ms":10"#), BaseRtt::ToBaseStation(Some(Span::from_millis(10))));
        assert_eq!(base_rtt(r#","min_rtt_ms":30"#), BaseRtt::ToUser(Span::from_millis(30)));
    }

    #[test]
    fn an_empty_message_is_that_of_an_empty_cell() {
        assert_eq!([read(""), read("\n\n")], [Reading::default(), Reading::default()]);
    }

    #[test]
    fn a_table_for_an_earlier_xapp_is_read_and_another_key_is_refused() {
        let table = "kind = \"flexric\"\naddress = \"127.0.0.1:5\"\npci = 1\nresource_blocks_per_second = 148400\nnames = \"tunnel\"";
        let SourceConfig::CountersSource(source) = toml::from_str(table).unwrap() else { panic!("{table}") };
        assert_eq!((source.pci, source.reads()), (Some(1), "127.0.0.1:5".to_owned()));
        let error = toml::from_str::<SourceConfig>(&table.replace("pci", "cell")).unwrap_err().to_string();
        assert!(error.contains("unknown field `cell`, expected one of `address`, `file`, `pci`"), "{error}");
    }
}

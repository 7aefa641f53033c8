//! A source, followed: its samples go to the service, and unusable parts are counted, and named in the log.

use super::metrics::SourceCounts;
use super::probes::Probes;
use crate::sample::Sample;
use crate::source::{Source, SourceEvent};
use crate::transport::{Log, Server};
use cellcc_http_port::ProblemLog;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The consequences of a source's messages.
pub(super) struct Follower {
    /// The source's kind, and its input.
    pub(super) name: String,
    pub(super) probes: Probes,
    pub(super) server: Server,
    pub(super) counts: Arc<SourceCounts>,
    pub(super) log: Log,
}

impl Follower {
    /// Until the source ends.
    pub(super) async fn follow(self, mut source: Box<dyn Source>) {
        let mut problems = ProblemLog::default();
        let mut has_named_a_stranger = false;
        while let Some(event) = source.next().await {
            match event {
                SourceEvent::Samples(mut samples) => {
                    self.counts.heard(&self.name);
                    if !has_named_a_stranger {
                        has_named_a_stranger = self.names_a_stranger(&samples);
                    }
                    self.probes.fill(&mut samples);
                    self.server.samples(&samples);
                }
                SourceEvent::LeftOut(left_out) => {
                    self.problem(&mut problems, left_out.count, &left_out.to_string());
                }
                SourceEvent::Problem(problem) => self.problem(&mut problems, 1, &problem),
            }
        }
        self.counts.ended.fetch_add(1, Ordering::Relaxed);
        (self.log)(&format!("source {} has ended", self.name));
    }

    fn problem(&self, problems: &mut ProblemLog, count: u64, text: &str) {
        self.counts.problems.fetch_add(count, Ordering::Relaxed);
        self.server.source_problem(&self.name);
        if let Some(line) = problems.line(Instant::now(), text) {
            (self.log)(&format!("source {}: {line}", self.name));
        }
    }

    /// Logs once that a source reports on a user that is not in the table: a base station may also have other users, and a
    /// table may have a wrong name.
    fn names_a_stranger(&self, samples: &[Sample]) -> bool {
        let Some(stranger) = self.server.stranger(samples) else { return false };
        (self.log)(&format!(
            "source {}: it tells of {stranger}, which no [[user]] of the configuration has; samples_unknown_user counts all of these",
            self.name
        ));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::metrics::registry;
    use super::super::test_edge::Edge;
    use super::*;
    use crate::source::CountersReader;
    use crate::source::gnb::{GnbReader, GnbSettings};
    use crate::source::mec::MecReader;
    use crate::source::{
        InputProblem, MessageReader, Messages, NextMessage, Plausible, RawInput, RawMessage,
    };
    use cellcc_units::Span;
    use prometheus_client::encoding::text::encode;
    use std::sync::Mutex;

    struct Texts(Vec<String>);

    impl RawInput for Texts {
        fn next(&mut self) -> NextMessage<'_> {
            Box::pin(async move {
                let at = cellcc_units::Time::ZERO;
                (!self.0.is_empty()).then(|| match self.0.remove(0) {
                    text if text.is_empty() => Err(InputProblem::Missing("it has gone".into())),
                    text => Ok(RawMessage { at, bytes: text.into() }),
                })
            })
        }
    }

    /// Counters and log of a service whose base station sends these messages.
    async fn followed(texts: Vec<String>) -> (u64, Vec<String>, Option<String>) {
        let reader = GnbReader::new(GnbSettings { downlink_slots_per_second: 1400, network_rtt: None });
        let (problems, lines, troubled, _) = followed_with(texts, reader).await;
        (problems, lines, troubled)
    }

    /// As [`followed`], of a source whose messages are read so; and its metrics.
    async fn followed_with(
        texts: Vec<String>,
        reader: impl MessageReader + 'static,
    ) -> (u64, Vec<String>, Option<String>, String) {
        let edge = Edge::start("edge").await;
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&lines);
        let follower = Follower {
            name: "gnb".into(),
            probes: Probes::open(&[], edge.clock).await.unwrap(),
            server: edge.server.clone(),
            counts: Arc::default(),
            log: Arc::new(move |line| log.lock().unwrap().push(line.to_owned())),
        };
        let counts = Arc::clone(&follower.counts);
        let metrics = registry(edge.server.clone(), Arc::clone(&counts), follower.probes.clone());
        follower.follow(Box::new(Messages::new(Texts(texts), reader, Plausible::default()))).await;
        let lines = lines.lock().unwrap().clone();
        let mut text = String::new();
        encode(&mut text, &metrics).unwrap();
        let troubled = edge.server.troubled_source(Span::from_secs(3600));
        (counts.problems.load(Ordering::Relaxed), lines, troubled, text)
    }

    /// Nothing was counted, and /health said 503.
    #[tokio::test]
    async fn messages_of_an_empty_cell_count_as_messages_whatever_source_sends_them() {
        let twice = |text: &str| vec![text.to_owned(); 2];
        let gnb = || GnbReader::new(GnbSettings { downlink_slots_per_second: 1400, network_rtt: None });
        let heard = [
            followed_with(
                twice(r#"{"timestamp":"2026-07-22T10:00:00.050","cells":[{"ue_list":[]}]}"#),
                gnb(),
            )
            .await,
            followed_with(
                twice(r#"{"timestamp":"2026-07-22T10:00:00.050","cells":[{"cell_metrics":{"pci":1}}]}"#),
                gnb(),
            )
            .await,
            followed_with(twice(r#"{"timestamp":1700000000.05,"cell_metrics":{},"ue_list":[]}"#), gnb())
                .await,
            followed_with(twice("\n"), CountersReader::default()).await,
            followed_with(twice(r#"{"cellInfo":[],"cellUEInfo":[]}"#), MecReader::new(None)).await,
        ];
        for (problems, lines, troubled, metrics) in heard {
            assert_eq!(
                (problems, lines.len(), troubled),
                (0, 1, None),
                "the end is all that the log has: {lines:?}"
            );
            assert!(metrics.contains("netassist_source_messages_total{source=\"gnb\"} 2"), "{metrics}");
            assert!(metrics.contains("netassist_samples_total 0"), "{metrics}");
        }
    }

    fn report(ms: u64, rate: &str) -> String {
        format!(
            r#"{{"timestamp":"2026-07-22T10:00:00.{ms:03}","cells":[{{"ue_list":[{{"pci":1,"rnti":9,"dl_brate":{rate},
            "ul_brate":0,"dl_nof_ok":1,"dl_nof_nok":0,"dl_bs":3000}}]}}]}}"#
        )
    }

    /// No user, no line, no count, and /health said 200.
    #[tokio::test]
    async fn entries_that_are_left_out_are_counted_and_named() {
        let rates = ["-1", "\"12000000\"", "null"];
        let texts = rates.iter().enumerate().map(|(at, rate)| report(50 * at as u64, rate)).collect();
        let (problems, lines, troubled) = followed(texts).await;
        assert_eq!((problems, troubled.as_deref()), (3, Some("gnb")));
        assert!(lines[0].contains("an entry was left out: `dl_brate` is -1"), "{lines:?}");
        assert_eq!(lines.len(), 4, "three problems, and the end: {lines:?}");
    }

    #[tokio::test]
    async fn a_wrong_line_of_counters_is_counted_and_named_and_harms_no_other_user() {
        let line = |user: &str, served: &str| {
            format!(r#"{{"user":"{user}","period_ms":50,"served_bytes":{served},"busy_ms":50}}"#)
        };
        let lines = [line("alice", "75000"), line("alice", "\"75 kB\""), line("bob", "75000")].join("\n");
        let (problems, log, _, metrics) = followed_with(vec![lines], CountersReader::default()).await;
        assert_eq!(problems, 1);
        let named = "line 2: `served_bytes` is \"75 kB\", but has to be a number from 0 to ";
        assert!(log[0].contains(named) && log[0].contains("alice"), "{log:?}");
        assert!(metrics.contains("netassist_samples_total 2"), "{metrics}");
    }

    #[tokio::test]
    async fn a_user_whom_the_table_lacks_is_named_once() {
        let texts = (0..5).map(|at| report(50 * at, "1e6")).collect();
        let (problems, lines, _) = followed(texts).await;
        let named = lines.iter().filter(|line| line.contains("RNTI 9 of cell 1, which no [[user]]")).count();
        assert_eq!((problems, named), (0, 1), "{lines:?}");
    }

    /// Two problems in turn were a line each time.
    #[tokio::test]
    async fn a_feed_of_nonsense_is_a_few_lines() {
        let (problems, lines, _) =
            followed((1..2000).map(|length| format!("{{\"x\":{}", "[".repeat(length % 100))).collect()).await;
        assert!(problems == 1999 && lines.len() < 10, "{problems}, {lines:?}");
    }
}

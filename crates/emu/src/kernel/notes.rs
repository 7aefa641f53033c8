//! The notes in a Record of the kernel driver.

use super::endpoints::Sent;
use crate::emulation::SelfReport;
use crate::realtime::kernel_version;
use cellcc_experiment::{Scenario, Source};

/// A limit that is no part of the path gets a note where it held for more than this share of the time.
const WORTH_A_NOTE: f64 = 0.01;

/// A sender that used a processor for more than this share of the time may have been limited by it.
const BUSY: f64 = 0.85;

/// A sender without data for more than this share of the time ran late itself. The handshake and the first
/// acknowledgement of a busy flow take far less.
const STARVED: f64 = 0.05;

/// The notes of a run.
pub(crate) fn notes(scenario: &Scenario, sent: &[Sent], report: &SelfReport) -> Vec<String> {
    let mut notes = vec![format!(
        "the TCP of Linux {} in real time, with its own acknowledgements: not those of endpoint.acks, ack_every and max_ack_delay",
        kernel_version()
    )];
    notes.extend(report.warnings());
    for (index, (sent, setup)) in sent.iter().zip(&scenario.flows).enumerate() {
        let flow = if sent_alone(scenario) { String::new() } else { format!(" of flow {}", index + 1) };
        let Some(info) = sent.info else {
            notes.push(format!("the connection{flow} did not come about in time"));
            continue;
        };
        let connected = sent.connected.as_secs_f64().max(1e-9);
        let share = |span: cellcc_units::Span| span.as_secs_f64() / connected;
        for (limited, what) in
            [(info.receiver_limited, "the receiver's window"), (info.buffer_limited, "the sender's buffer")]
        {
            if share(limited) > WORTH_A_NOTE {
                let percent = share(limited) * 100.0;
                notes.push(format!(
                    "{what}{flow} limited the sender for {percent:.0} % of the time, not the path"
                ));
            }
        }
        if share(sent.cpu) > BUSY {
            let percent = share(sent.cpu) * 100.0;
            notes.push(format!(
                "the sender{flow} was busy {percent:.0} % of the time: its processor may have limited it, not the path"
            ));
        }
        if setup.source == Source::Bulk && share(info.busy) < 1.0 - STARVED {
            let percent = (1.0 - share(info.busy)) * 100.0;
            notes.push(format!(
                "the sender{flow} had nothing to send for {percent:.0} % of the time, as it came too late to its processor"
            ));
        }
    }
    notes
}

fn sent_alone(scenario: &Scenario) -> bool {
    scenario.flows.len() == 1
}

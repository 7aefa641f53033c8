//! Messages of a base station, or of an attacker in its place: none makes the reader fail, and every sample can be sent.

#![no_main]

use cellcc_netassist::source::gnb::{GnbReader, GnbSettings};
use cellcc_netassist::{Identities, LiveFlows, RadioName, Service, User};
use cellcc_units::{Span, Time};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let radio = vec![RadioName { pci: 1, rnti: 17921 }];
    let users = vec![User { name: "alice".into(), addresses: Vec::new(), radio, supi: None }];
    let identities = Identities::new(users, &[0; 32]).expect("one user is not ambiguous");
    let mut service = Service::new(Time::ZERO, identities, LiveFlows::default());
    let settings = GnbSettings { downlink_slots_per_second: 1400, network_rtt: Some(Span::from_millis(10)) };
    let mut reader = GnbReader::new(settings);
    let mut now = Time::ZERO;
    for message in data.split(|byte| *byte == b'\n') {
        now += Span::from_millis(50);
        for sample in reader.read(now, message).unwrap_or_default().samples {
            if let Some(publication) = service.sample(&sample) {
                publication.record.encode();
            }
        }
        service.poll(now, now);
    }
});

//! Lines of counters, messages of MEC platforms, mobile cores and network elements, or of an attacker in their place: none makes a reader
//! fail, and every sample can be sent.

#![no_main]

use cellcc_assist::scone;
use cellcc_netassist::source::mec::MecReader;
use cellcc_netassist::source::{CountersReader, MessageReader};
use cellcc_netassist::{Identities, LiveFlows, RadioName, Service, User, open5gs_sessions};
use cellcc_units::{Span, Time};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let addresses = vec![[10, 45, 0, 2].into()];
    let radio = vec![RadioName { pci: 1, rnti: 17921 }];
    let users = vec![User { name: "alice".into(), addresses, radio, supi: Some("imsi-1".into()) }];
    let identities = Identities::new(users, &[0; 32]).expect("one user is not ambiguous");
    let mut service = Service::new(Time::ZERO, identities, LiveFlows::default());
    let counters = CountersReader { pci: Some(1), network_rtt: None };
    let mut readers: [Box<dyn MessageReader>; 2] = [Box::new(counters), Box::new(MecReader::new(None))];
    let mut now = Time::ZERO;
    for message in data.split(|byte| *byte == b'\n') {
        now += Span::from_millis(50);
        if let Ok((sessions, _)) = open5gs_sessions(message) {
            service.join(&sessions);
        }
        for reader in &mut readers {
            for sample in reader.read(now, message).unwrap_or_default().samples {
                if let Some(publication) = service.sample(&sample) {
                    publication.record.encode();
                }
            }
        }
        service.poll(now, now);
        service.overview(now, 10);
    }
    let mut datagram = data.to_vec();
    let lowered = scone::lower(&mut datagram, scone::Signal::at_most(cellcc_units::Rate::ZERO));
    assert_eq!(lowered, datagram != data);
});

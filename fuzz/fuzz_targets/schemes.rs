//! The values of `--schemes` and `--traces`: sets in braces, mixes of flows, schemes with parameters, the text of a link. A
//! parsed value has a text that reads equally, and a scheme of it can be built.

#![no_main]

use cellcc_control::{Context, Registry, split_list};
use cellcc_experiment::{Mix, expand_braces};
use cellcc_link::CapacitySpec;
use cellcc_units::Bytes;
use libfuzzer_sys::fuzz_target;

thread_local! {
    // Once: making it takes longer than reading a text with it.
    static REGISTRY: Registry = cellcc_schemes::registry();
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(link) = text.parse::<CapacitySpec>() {
        assert_eq!(link.to_string().parse::<CapacitySpec>().expect("it was one"), link);
    }
    REGISTRY.with(|registry| read(text, registry));
});

fn read(text: &str, registry: &Registry) {
    for listed in split_list(text) {
        for mix in expand_braces(listed).unwrap_or_default().iter().take(10) {
            let Ok(mix) = Mix::parse(mix) else { continue };
            for flow in mix.flows.iter().take(3) {
                let Ok(scheme) = registry.parse(&flow.scheme) else { continue };
                assert_eq!(registry.parse(scheme.text()).expect("it was one").text(), scheme.text());
                let packet = Bytes::new(1500);
                scheme.build(&Context::new(packet, packet * 10, 0));
            }
        }
    }
}

//! A million random steps in the kernel decide as they do on the host.

use crate::kernel::Kernel;
use bytemuck::{CheckedBitPattern, checked};
use cellcc_kernel::steps::assisted::{AssistedTrial, assisted_try};
use cellcc_kernel::steps::c2tcp::{C2tcpTrial, c2tcp_try};
use cellcc_kernel::steps::reminis::{ReminisTrial, reminis_try};
use cellcc_kernel::steps::tide::{TideTrial, tide_try};
use cellcc_kernel::steps::vegas::{VegasTrial, vegas_try};
use cellcc_kernel::steps::westwood::{WestwoodTrial, westwood_try};
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput};
use std::fmt::Debug;

const STEPS: u32 = 1_000_000;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// The only key of an array of one.
const ONLY: [u8; 4] = [0; 4];

/// Runs the steps of a core in the kernel, and compares with the same steps on the host.
fn compare<T>(object: &Object, core: &str, mut host: T, once: extern "C" fn(&mut T))
where
    T: CheckedBitPattern + Debug + PartialEq,
{
    let program =
        object.progs_mut().find(|program| program.name() == &*format!("try_{core}")).expect("a program");
    program.test_run(ProgramInput::default()).expect("a run");
    let trials = object.maps().find(|map| map.name() == &*format!("{core}_trials")).expect("a map");
    let after = trials.lookup(&ONLY, MapFlags::ANY).expect("read").expect("a value");
    let kernel: T = checked::try_pod_read_unaligned(&after).expect("a trial");
    (0..STEPS).for_each(|_| once(&mut host));
    assert_eq!(kernel, host, "{core}");
}

#[test]
fn the_kernel_decides_as_the_host_does() {
    let Some(_kernel) = Kernel::take() else { return };
    decide_alike(include_bytes!("../../objects/equality.bpf.o"));
}

/// Runs the steps of all cores that are in this object.
pub(crate) fn decide_alike(bytes: &[u8]) {
    let object =
        ObjectBuilder::default().open_memory(bytes).and_then(|object| object.load()).expect("loaded");
    let requests = object.maps().find(|map| map.name() == "requests").expect("a map");
    let request = [&SEED.to_ne_bytes()[..], &STEPS.to_ne_bytes(), &[0; 4]].concat();
    requests.update(&ONLY, &request, MapFlags::ANY).expect("a request");
    compare(&object, "reminis", ReminisTrial::new(SEED), reminis_try);
    compare(&object, "assisted", AssistedTrial::new(SEED), assisted_try);
    compare(&object, "vegas", VegasTrial::new(SEED), vegas_try);
    compare(&object, "westwood", WestwoodTrial::new(SEED), westwood_try);
    compare(&object, "c2tcp", C2tcpTrial::new(SEED), c2tcp_try);
    compare(&object, "tide", TideTrial::new(SEED), tide_try);
}

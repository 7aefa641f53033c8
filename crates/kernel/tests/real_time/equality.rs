//! A million random steps in the kernel decide as they do on the host.

use crate::kernel::Kernel;
use cellcc_kernel::cores;
use cellcc_schemes::in_kernel::KernelCore;
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput};

const STEPS: u32 = 1_000_000;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// The only key of an array of one.
const ONLY: [u8; 4] = [0; 4];

/// Runs the steps of a core in the kernel, and compares with the same steps on the host.
fn compare(object: &Object, core: &KernelCore) {
    let name = format!("try_{}", core.name);
    let program = object.progs_mut().find(|program| program.name() == &*name).expect("a program");
    program.test_run(ProgramInput::default()).expect("a run");
    let name = format!("{}_trials", core.name);
    let trials = object.maps().find(|map| map.name() == &*name).expect("a map");
    let after = trials.lookup(&ONLY, MapFlags::ANY).expect("read").expect("a value");
    assert_eq!(core.try_again(SEED, STEPS, &after), None, "{}", core.name);
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
    cores().into_iter().for_each(|core| compare(&object, core));
}

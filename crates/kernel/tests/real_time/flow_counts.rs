//! A device says how many flows it has, and a server divides by that.

use crate::advice::{advice, send_to_reader};
use crate::control_group::Group;
use crate::kernel::{Kernel, ours};
use cellcc_kernel::{FlowTeller, KernelError, Settings};
use std::net::Ipv4Addr;

#[test]
fn a_server_that_listens_divides_the_window_by_the_flows_that_a_device_tells() {
    let Some(kernel) = Kernel::take() else { return };
    let scheme = ours("cellcc_natcp");
    kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    let group = Group::enter();
    let teller = FlowTeller::start(&group.open()).expect("a teller");
    let cwnd = || {
        send_to_reader(scheme, |send| {
            kernel.pins.advise(Ipv4Addr::LOCALHOST.into(), &advice()).expect("advised");
            send().cwnd
        })
    };
    teller.tell(4).expect("reported");
    let deaf = cwnd();

    kernel.pins.hear_flow_counts(&group.open()).expect("hears");
    assert_eq!(cwnd(), deaf / 4);
    teller.tell(2).expect("reported");
    assert_eq!(cwnd(), deaf / 2);
    // A device that tells nothing has the flows that the network counts.
    teller.tell(0).expect("reported");
    assert_eq!(cwnd(), deaf);
    drop(teller);
    assert_eq!(cwnd(), deaf);
}

#[test]
fn without_a_scheme_nobody_would_use_what_is_heard() {
    let Some(kernel) = Kernel::take() else { return };
    let group = Group::enter();
    let refused = kernel.pins.hear_flow_counts(&group.open());
    assert!(matches!(refused, Err(KernelError::NothingLoaded)), "{refused:?}");
}

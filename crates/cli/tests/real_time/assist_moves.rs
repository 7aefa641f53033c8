//! Users who move between the sites of two daemons, as `cellcc-measure moving-users` measures it for ten minutes. Needs root,
//! nftables and nats-server; elsewhere the test says so and passes.

#[path = "../../../measure/src/moving_users/run/mod.rs"]
mod moving_users;

use crate::can_emulate;
use cellcc_kernel::{Machine, Scheme};
use cellcc_test_support::{alone_in_the_kernel, nats_server, needs_punctuality, skip};
use moving_users::Schedule;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Six moves, a second apart: each user to the other site and back.
const SCHEDULE: Schedule =
    Schedule { warm_up: Duration::from_secs(3), move_interval: Duration::from_secs(3), moves: 2 };

fn programs_are_there() -> bool {
    let nft = Command::new("nft").arg("--version").output();
    let are_there = nft.is_ok() && nats_server::program().is_some();
    if !are_there {
        skip("nft or nats-server is missing: apt-get install nftables nats-server");
    }
    are_there
}

mod punctual {
    use super::*;

    #[test]
    fn moving_users_lose_no_flow_and_both_senders_hear_of_the_new_site_within_three_periods() {
        needs_punctuality(|| {
            if let Err(refusal) =
                Machine::current().permits(Scheme::named("cellcc_natcp").expect("a scheme of ours"))
            {
                skip(refusal);
                return;
            }
            if !programs_are_there() || !can_emulate() {
                return;
            }
            let _kernel = alone_in_the_kernel();
            let folder = tempfile::tempdir().unwrap();
            let (program, never) = (assert_cmd::cargo::cargo_bin!("cellcc"), AtomicBool::new(false));
            let outcome = moving_users::run(program, folder.path(), &SCHEDULE, &never).unwrap();
            // Memory is the result of ten minutes.
            assert!(
                outcome.lost().is_empty() && outcome.late().is_empty(),
                "{outcome}{:?}",
                outcome.problems()
            );
        });
    }
}

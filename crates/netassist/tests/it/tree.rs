//! The simulated tree of `cellcc-measure netassist-tree`: its invariants, and the bounds of messages after an outage.

#[path = "../../../measure/src/netassist_tree/needs.rs"]
mod needs;
#[path = "../../../measure/src/netassist_tree/region/mod.rs"]
mod region;
#[path = "../../../measure/src/netassist_tree/table.rs"]
mod table;

use cellcc_units::{Span, Time};
use proptest::prelude::*;
use region::{Flow, Link, PERIOD, Plan, Sizes, run};
use table::Tree;

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn small(seed: u64) -> Plan {
    Plan {
        sites: 3,
        users_per_site: 40,
        one_active_of: 2,
        servers: 4,
        waits_are_drawn: true,
        outage: Some((at(5_000), at(20_000))),
        is_silent: true,
        boot: Span::from_secs(2),
        until: at(60_000),
        seed,
    }
}

const PAGE: &str = include_str!("../../../../docs/evidence/netassist.md");

#[test]
fn the_page_has_what_the_command_prints() {
    for part in Tree::of_ten_million_users().to_string().split("\n\n") {
        assert!(
            PAGE.contains(part.trim()),
            "docs/evidence/netassist.md lacks, of `cellcc-measure netassist-tree`:\n{part}"
        );
    }
}

/// Any change in the behaviour of clients and services after an outage shows here.
#[test]
fn a_small_region_comes_back_as_it_did() {
    let outcome = run(&small(1));
    let sizes = Sizes::of_examples();
    let mut lines = Vec::new();
    for link in Link::ALL {
        let of = |flow: &Flow| {
            format!("{flow:?} {} of {} B", outcome.links.total(link, *flow), sizes.of(link, *flow))
        };
        lines.push(format!("{}: {}", link.name(), Flow::ALL.iter().map(of).collect::<Vec<_>>().join(", ")));
    }
    let last = outcome.whole_at.iter().flatten().max().unwrap();
    lines
        .push(format!("the last user is reported again after {:.3} s", last.since(at(20_000)).as_secs_f64()));
    insta::assert_snapshot!(lines.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn without_an_outage_each_record_about_a_user_with_a_flow_reaches_the_users_server_and_no_other(
        seed: u64, sites in 1_usize..6, servers in 1_usize..6, periods in 20_u64..400,
    ) {
        let until = Time::ZERO + PERIOD * periods;
        let outcome = run(&Plan { sites, servers, outage: None, until, ..small(seed) });
        for (delivered, users) in outcome.delivered.iter().zip(&outcome.users_of) {
            prop_assert_eq!(*delivered, users * periods);
        }
        prop_assert_eq!(outcome.made, outcome.delivered.iter().sum::<u64>());
        prop_assert_eq!(outcome.without_subscription, 0);
    }

    #[test]
    fn after_an_outage_all_subscriptions_are_whole_again_and_what_is_made_is_delivered_or_dropped_for_want_of_one(
        seed: u64, sites in 1_usize..6, servers in 1_usize..6, ends in 5_001_u64..25_000, boot in 0_u64..5_000,
    ) {
        let outage = Some((at(5_000), at(ends)));
        let plan = Plan { sites, servers, outage, boot: Span::from_millis(boot), ..small(seed) };
        let outcome = run(&plan);
        prop_assert!(outcome.whole_at.iter().all(|whole| whole.is_some_and(|whole| whole > at(ends))));
        let delivered: u64 = outcome.delivered.iter().sum();
        prop_assert_eq!(outcome.made, delivered + outcome.without_subscription);
        for link in [Link::LeafToHub, Link::HubToServer] {
            let whole_seconds = outcome.links.total(link, Flow::Records);
            prop_assert_eq!(whole_seconds, delivered, "{}", link.name());
        }
    }

    /// A server asks for its users once when it is connected, and for each once in ten seconds. Each site answers once.
    #[test]
    fn after_an_outage_nobody_asks_more_than_clients_may(
        seed: u64, sites in 1_usize..6, users_per_site in 10_usize..400, ends in 5_001_u64..25_000,
    ) {
        let outage = Some((at(5_000), at(ends)));
        let plan = Plan { sites, users_per_site, one_active_of: 1, outage, ..small(seed) };
        let outcome = run(&plan);
        prop_assert_eq!(outcome.too_fast, 0);
        let users: u64 = outcome.users_of.iter().sum();
        let renewals = plan.until.as_nanos() / 10_000_000_000 + 1;
        // Sites that are back late make each of their users wait, and ask again, for as long as they take: after 1 and 3 s.
        let requests = outcome.links.total(Link::ServerToHub, Flow::Requests);
        prop_assert!(requests <= users * (1 + renewals + 2), "{requests} requests for {users} users");
        let [asked, answered] = [Link::LeafToDaemon, Link::DaemonToLeaf].map(|link| {
            Flow::ALL.iter().filter(|flow| **flow != Flow::Records).map(|flow| outcome.links.total(link, *flow)).sum::<u64>()
        });
        prop_assert_eq!(asked, answered);
        prop_assert!(asked <= requests * sites as u64);
    }
}

/// A thousand servers lose the hub at the same moment, and try again until it is back. With waits of 0 to 5 s, 2.5 s on average,
/// one in 25 of them tries in a given tenth of a second: 40, and hardly ever more than six standard deviations above that.
#[test]
fn servers_that_draw_their_waits_do_not_come_all_at_once() {
    let plan = Plan { servers: 1000, users_per_site: 1000, is_silent: false, ..small(1) };
    let [drawn, same] = [true, false].map(|waits_are_drawn| {
        let outcome = run(&Plan { waits_are_drawn, ..plan });
        assert!(outcome.whole_at.iter().all(Option::is_some));
        outcome.most_connections_within(Span::from_millis(100))
    });
    assert_eq!(same, 1000, "without drawing they stay together");
    assert!(drawn <= 40 + 6 * 7, "{drawn} within 100 ms");
}

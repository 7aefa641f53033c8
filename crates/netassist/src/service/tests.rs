use super::*;
use crate::audit::EndReason;
use crate::identity::{SourceName, User};
use cellcc_assist::Knowledge;
use cellcc_control::{Advice, AdviceClass};
use cellcc_units::Rate;

const ALICE: &str = "10.45.0.2";
const SERVER: &str = "192.0.2.1";

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn peer(role: Role, name: &str) -> PeerName {
    PeerName::new(role, name).unwrap()
}

fn user(name: &str, address: &str) -> User {
    User { name: name.into(), addresses: vec![ip(address)], radio: Vec::new(), supi: None }
}

fn service(live_flows: LiveFlows) -> Service {
    let users = vec![user("alice", ALICE), user("bob", "10.45.0.3")];
    Service::new(at(0), Identities::new(users, &[7; 32]).unwrap(), live_flows)
}

/// A service that sees a flow between the server and Alice.
fn with_flow() -> Service {
    let mut service = service(LiveFlows::default());
    service.see_flows(at(0), [(ip(ALICE), ip(SERVER))]);
    service
}

fn server(service: &mut Service) -> ClientId {
    service.connect(at(0), peer(Role::Server, "video-1"), ip(SERVER)).unwrap()
}

fn subscribe(user: &str) -> Request {
    Request::Subscribe { user: ip(user), flows: 1, consent: None }
}

fn ask(service: &mut Service, now: Time, id: ClientId, user: &str, consent: &Presented) -> Answer {
    match service.request(now, id, &subscribe(user), consent) {
        Reply::Answers(answers) => answers.into_iter().next().expect("one answer"),
        Reply::Disconnect => panic!("disconnected"),
    }
}

/// The due work if both clocks agree.
fn poll(service: &mut Service, now: Time) -> Due {
    service.poll(now, now)
}

fn is_granted(answer: &Answer) -> bool {
    matches!(answer, Answer::Subscribed { .. })
}

fn sample(name: &str, until: u64) -> Sample {
    let advice = Advice::new(Rate::from_mbit_per_sec(12.0), AdviceClass::Backlogged, PERIOD);
    Sample {
        user: SourceName::Name(name.into()),
        cell: 1,
        until: at(until),
        measured: Knowledge::Known(advice),
    }
}

fn consent(user: &str, server: &str, until: u64) -> Presented {
    Presented::Signed(Consent {
        user: peer(Role::User, user),
        server: peer(Role::Server, server),
        until: at(until),
    })
}

#[test]
fn a_server_is_informed_about_the_users_that_it_has_a_flow_with_and_about_no_others() {
    let mut service = with_flow();
    let id = server(&mut service);
    assert!(is_granted(&ask(&mut service, at(1), id, ALICE, &Presented::None)));
    assert!(!is_granted(&ask(&mut service, at(1), id, "10.45.0.3", &Presented::None)));
    assert_eq!(service.sample(&sample("alice", 50)).unwrap().to, [id]);
    assert_eq!(service.sample(&sample("bob", 50)).unwrap().to, []);
}

#[test]
fn a_refusal_does_not_tell_whether_there_is_such_a_user() {
    let mut service = service(LiveFlows::default());
    let id = server(&mut service);
    let reason = |answer| match answer {
        Answer::Refused { reason, retry_after_ms, .. } => (reason, retry_after_ms),
        other => panic!("{other:?}"),
    };
    let known = reason(ask(&mut service, at(1), id, ALICE, &Presented::None));
    let unknown = reason(ask(&mut service, at(1), id, "10.45.9.9", &Presented::None));
    assert_eq!(known, unknown);
}

#[test]
fn a_record_carries_the_key_and_never_the_address() {
    let mut service = with_flow();
    let id = server(&mut service);
    let Answer::Subscribed { key, .. } = ask(&mut service, at(1), id, ALICE, &Presented::None) else {
        panic!("not granted")
    };
    let record = service.sample(&sample("alice", 50)).unwrap().record;
    assert_eq!(cellcc_netassist_client::UserKey(record.user).to_string(), key);
    let address = [10, 45, 0, 2];
    assert!(!record.encode().windows(4).any(|bytes| bytes == address));
}

#[test]
fn consent_opens_one_user_to_one_server_for_a_time() {
    let mut service = service(LiveFlows::default());
    let id = server(&mut service);
    for wrong in [consent("bob", "video-1", 5000), consent("alice", "video-2", 5000), Presented::Forged] {
        assert!(!is_granted(&ask(&mut service, at(1), id, ALICE, &wrong)), "{wrong:?}");
    }
    assert!(is_granted(&ask(&mut service, at(1), id, ALICE, &consent("alice", "video-1", 5000))));
    assert_eq!(poll(&mut service, at(4000)).answers, []);
    let ended = poll(&mut service, at(5000)).answers;
    assert!(matches!(&ended[..], [(client, Answer::Ended { .. })] if *client == id), "{ended:?}");
    assert_eq!(service.subscriptions(), 0);
}

#[test]
fn a_subscription_ends_with_the_flow() {
    let mut service = with_flow();
    let id = server(&mut service);
    ask(&mut service, at(1), id, ALICE, &Presented::None);
    service.see_flows(at(30_000), []);
    assert_eq!(poll(&mut service, at(30_000)).answers, []);
    service.see_flows(at(30_001), []);
    assert!(matches!(&poll(&mut service, at(31_001)).answers[..], [(_, Answer::Ended { .. })]));
    assert_eq!(service.sample(&sample("alice", 31_050)).unwrap().to, []);
}

/// All subscriptions by live flow used to end after 30 s in which connection tracking could not be read.
#[test]
fn a_subscription_stays_while_nobody_can_look_at_flows() {
    let mut service = with_flow();
    let id = server(&mut service);
    ask(&mut service, at(1), id, ALICE, &Presented::None);
    assert_eq!(poll(&mut service, at(3_600_000)).answers, []);
    assert_eq!(service.subscriptions(), 1);
}

/// A consent used to be judged by the time at the service's start and the steady time since.
#[test]
fn a_consent_ends_by_the_machines_clock_also_where_that_jumps() {
    let mut service = service(LiveFlows::default());
    let id = server(&mut service);
    ask(&mut service, at(1), id, ALICE, &consent("alice", "video-1", 3_600_000));
    assert_eq!(service.poll(at(4000), at(3_599_999)).answers, []);
    let ended = service.poll(at(8000), at(7_200_000)).answers;
    assert!(matches!(&ended[..], [(_, Answer::Ended { .. })]), "{ended:?}");
}

/// One server had 1,350 lines a second written, by asking for a user and leaving it again; each of them as if by right.
#[test]
fn what_is_begun_and_ended_in_turn_for_long_is_no_flood_of_lines() {
    let mut service = with_flow();
    let mut id = server(&mut service);
    let mut lines_of_second = |second: u64| {
        for turn in 0..900 {
            let now = at(second * 1000 + turn);
            let requests = [subscribe(ALICE), Request::Unsubscribe { user: ip(ALICE) }];
            if requests.map(|request| service.request(now, id, &request, &Presented::None))[0]
                == Reply::Disconnect
            {
                service.disconnect(id);
                id = service.connect(now, peer(Role::Server, "video-1"), ip(SERVER)).unwrap_or(id);
            }
        }
        service.take_audit(at(second * 1000)).count()
    };
    // All users of all clients of a name, once, and a hundred refusals.
    let at_first: usize = (0..210).map(&mut lines_of_second).sum();
    assert!(at_first > 320_000, "{at_first}");
    let then: usize = (210..220).map(lines_of_second).sum();
    // Each second 100 beginnings with their ends, and 10 refusals.
    assert!((1000..=10 * 210).contains(&then), "{then}");
}

#[test]
fn each_role_may_do_only_what_it_is_for() {
    let mut service = with_flow();
    for (role, request, is_allowed) in [
        (Role::User, subscribe(ALICE), false),
        (Role::Operator, subscribe(ALICE), false),
        (Role::Service, subscribe(ALICE), false),
        (Role::Server, Request::SubscribeAll, false),
        (Role::User, Request::SubscribeAll, false),
        (Role::Operator, Request::SubscribeAll, true),
        (Role::Server, Request::Flows { active: 3 }, false),
        (Role::User, Request::Flows { active: 3 }, true),
    ] {
        let id = service.connect(at(0), peer(role, "alice"), ip(SERVER)).unwrap();
        let Reply::Answers(answers) = service.request(at(1), id, &request, &Presented::None) else {
            panic!()
        };
        let is_refused = answers.iter().any(|answer| matches!(answer, Answer::Refused { .. }));
        assert_eq!(is_refused, !is_allowed, "{role:?} {request:?}: {answers:?}");
    }
}

#[test]
fn a_device_tells_of_its_own_flows_only() {
    let mut service = with_flow();
    let id = service.connect(at(0), peer(Role::User, "alice"), ip("10.45.0.2")).unwrap();
    service.request(at(1), id, &Request::Flows { active: 4 }, &Presented::None);
    assert_eq!(service.sample(&sample("alice", 50)).unwrap().record.flows, 4);
    assert_eq!(service.sample(&sample("bob", 50)).unwrap().record.flows, 1);
}

#[test]
fn beta_is_the_sum_of_what_the_servers_tell() {
    let mut service = with_flow();
    service.see_flows(at(0), [(ip(ALICE), ip("192.0.2.2"))]);
    let first = server(&mut service);
    let second = service.connect(at(0), peer(Role::Server, "video-2"), ip("192.0.2.2")).unwrap();
    let flows = |flows| Request::Subscribe { user: ip(ALICE), flows, consent: None };
    service.request(at(1), first, &flows(1), &Presented::None);
    service.request(at(1), second, &flows(2), &Presented::None);
    assert_eq!(service.sample(&sample("alice", 50)).unwrap().record.flows, 3);
    service.request(at(2), first, &flows(4), &Presented::None);
    assert_eq!(service.sample(&sample("alice", 100)).unwrap().record.flows, 6);
    service.disconnect(second);
    assert_eq!(service.sample(&sample("alice", 150)).unwrap().record.flows, 4);
}

#[test]
fn a_hundred_thousand_registrations_end_the_connection() {
    let mut service = with_flow();
    let id = server(&mut service);
    let granted = (0..100_000_u32)
        .take_while(|_| service.request(at(1), id, &subscribe(ALICE), &Presented::None) != Reply::Disconnect)
        .count();
    // 5,000 at once, then 999 refusals.
    assert_eq!(granted, 5_999);
    assert_eq!(service.subscriptions(), 1);
    assert_eq!(service.take_audit(at(1)).count(), 102, "a flood of requests is no flood of lines");
}

#[test]
fn one_name_does_not_take_the_places_of_the_others() {
    let mut service = with_flow();
    let places = |service: &mut Service, name: &str| {
        (0..1000).map_while(|_| service.connect(at(0), peer(Role::Server, name), ip(SERVER))).count()
    };
    assert_eq!(places(&mut service, "video-1"), 16);
    let others: usize = (2..100).map(|index| places(&mut service, &format!("video-{index}"))).sum();
    assert_eq!(16 + others, 256, "and all together have their limit");
}

#[test]
fn a_late_source_is_reported_to_those_who_listen() {
    let mut service = with_flow();
    let id = server(&mut service);
    ask(&mut service, at(1), id, ALICE, &Presented::None);
    service.sample(&sample("alice", 50));
    let mut stale = Vec::new();
    while service.next_wake() <= at(1000) {
        let now = service.next_wake();
        stale.extend(poll(&mut service, now).publications.into_iter().map(|publication| (now, publication)));
    }
    let [(when, publication)] = &stale[..] else { panic!("{stale:?}") };
    assert!((at(200)..at(250)).contains(when), "{when}");
    assert!(publication.record.stale && publication.to == [id]);
}

#[test]
fn everything_that_matters_is_in_the_audit_log() {
    let mut service = with_flow();
    let id = server(&mut service);
    ask(&mut service, at(1), id, ALICE, &Presented::None);
    ask(&mut service, at(2), id, ALICE, &Presented::None);
    ask(&mut service, at(3), id, "10.45.0.3", &Presented::None);
    service.request(at(4), id, &Request::Unsubscribe { user: ip(ALICE) }, &Presented::None);
    let until_then: Vec<_> = service.take_audit(at(5)).collect();
    service.disconnect(id);
    let entries = until_then.into_iter().chain(service.take_audit(at(6)));
    let events: Vec<_> = entries.map(|entry| (entry.unix_ms, entry.event)).collect();
    let alice = || "alice".to_owned();
    assert_eq!(
        events,
        [
            (5, Event::Connected),
            (5, Event::Subscribed { user: alice(), because: Ground::LiveFlow }),
            (5, Event::Refused { address_asked: ip("10.45.0.3"), reason: Refused::NoGround }),
            (5, Event::Ended { user: alice(), reason: EndReason::Unsubscribed }),
            (6, Event::Disconnected { refused: 1 }),
        ]
    );
}

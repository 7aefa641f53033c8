use super::*;

fn queue(text: &str) -> Queue {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_limit_alone_is_drop_tail() {
    assert_eq!(queue("3200pkt"), QueueLimit::Packets(3200).into());
    assert_eq!(queue("droptail(100ms)"), queue("100ms"));
}

#[test]
fn what_is_written_reads_back_in_its_shortest_form() {
    for (text, shortest) in [
        ("unlimited", "unlimited"),
        ("droptail(1.5MB,mark=1ms)", "droptail(1.5MB, mark=1ms)"),
        ("droptail(ack-filter, 100pkt)", "droptail(100pkt, ack-filter)"),
        ("drophead( 100pkt )", "drophead(100pkt)"),
        ("codel()", "codel"),
        (
            "codel(ecn, target = 5ms, interval=50ms, limit=1000pkt)",
            "codel(interval=50ms, limit=1000pkt, ecn)",
        ),
        (
            "pie(target=20ms, burst=0s, update=16ms, limit=1MB, ecn)",
            "pie(target=20ms, burst=0s, update=16ms, limit=1MB, ecn)",
        ),
        ("pie", "pie"),
        ("red", "red"),
        ("red(min=375kB, max=1125kB)", "red(verus)"),
        ("red(ecn, verus, max=2MB, limit=1000pkt)", "red(min=375kB, max=2MB, limit=1000pkt, ecn)"),
        ("red(probability=2%)", "red(probability=2%)"),
        ("codel(target=50ms,mahimahi,limit=250pkt)", "codel(mahimahi, target=50ms, limit=250pkt)"),
        ("pie(mahimahi, burst=150ms, target=20ms)", "pie(mahimahi, target=20ms)"),
        ("abc(limit=250pkt, target=20ms, delta=133ms)", "abc(target=20ms, limit=250pkt)"),
        ("abc(eta=95%)", "abc(eta=95%)"),
        ("fq-codel", "fq-codel"),
        (
            "fq-codel(ecn, queues=64, limit=10240pkt, quantum=300B, interval=50ms)",
            "fq-codel(quantum=300B, queues=64, interval=50ms, ecn)",
        ),
    ] {
        assert_eq!(queue(text).to_string(), shortest);
        assert_eq!(queue(shortest), queue(text));
    }
}

#[test]
fn an_unknown_part_is_refused_by_its_name_with_what_there_is() {
    for (text, part, known) in [
        ("codel(tarjet=5ms)", "`tarjet=5ms`", "`target=5ms`"),
        ("codel(target=5ms, target=6ms)", "`target=6ms`", "at most once"),
        ("codel(target=0s)", "`target=0s`", "`target=5ms`"),
        ("pie(alpha=1)", "`alpha=1`", "`update=15ms`"),
        ("pie(update=1us)", "`update=1us`", "1ms or more"),
        ("pie(100pkt)", "`100pkt`", "`limit=1000pkt`"),
        ("red(min=30kB)", "`min=30kB, max=22.5kB`", "above `min`"),
        ("red(probability=0%)", "`probability=0%`", "above 0%"),
        ("red(probability=0.1)", "`probability=0.1`", "`probability=10%`"),
        ("codel(mahimahi, ecn)", "`ecn`", "codel(mahimahi)"),
        ("codel(mahimahi, mahimahi)", "`mahimahi`", "at most once"),
        ("codel(mahimahi, target=500us)", "`target=500us`", "whole milliseconds"),
        ("pie(mahimahi, update=30ms)", "`update=30ms`", "pie(mahimahi)"),
        ("abc(eta=1.2)", "`eta=1.2`", "up to 100%"),
        ("abc(ecn)", "`ecn`", "`delta=133ms`"),
        ("fq-codel(quantum=255B)", "`quantum=255B`", "256B or more"),
        ("fq-codel(queues=0)", "`queues=0`", "1 to 65536"),
        ("fq-codel(flows=4)", "`flows=4`", "`queues=1024`"),
        ("drophead(100pkt, ecn)", "`ecn`", "`drophead`"),
        ("droptail(100pkt, mark=1)", "`mark=1`", "`mark=1ms`"),
    ] {
        let error = text.parse::<Queue>().unwrap_err().to_string();
        assert!(error.contains(part) && error.contains(known), "{text}: {error}");
    }
}

#[test]
fn a_queue_without_its_limit_or_of_an_unknown_kind_is_refused() {
    for text in
        ["", "3200", "0pkt", "droptail", "drophead()", "droptail(mark=1ms)", "blue", "codel(", "codel(ecn"]
    {
        assert!(text.parse::<Queue>().is_err(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "(droptail|drophead|codel|pie|red|fq-codel|abc|)\\(?\\PC*\\)?") {
        let _ = text.parse::<Queue>();
    }
}

/// The row of a form begins with it; other rows of the table are examples.
#[test]
fn the_guide_has_a_row_for_each_discipline() {
    let page = include_str!("../../../../docs/link-model.md");
    for form in Queue::forms() {
        let row = format!("| `{form}` | ");
        assert!(
            page.contains(&row),
            "docs/link-model.md, in the table of queues, lacks a row that begins with {row:?}"
        );
    }
}

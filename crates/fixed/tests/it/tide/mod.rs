//! Recorded conversations of Tide (docs/algorithms/tide-spec.md): the core decides them again, to the last bit.

mod conversation;
mod path;

use conversation::Conversation;
use path::{Path, Rival, SECOND, talk};
use std::path::PathBuf;
use std::{env, fs};

/// What is recorded: the name of the file, what it covers, and the path.
const RECORDED: [(&str, &str, Path); 10] = [
    (
        "start-up",
        "24 Mbit/s and 20 ms, until the queue is at its target",
        Path { service: 500, base_rtt: 20_000, end: SECOND / 2, ..Path::PLAIN },
    ),
    ("steady", "a steady link for long enough for a drain", Path { end: 12 * SECOND, ..Path::PLAIN }),
    (
        "rival",
        "a flow that halves its window on loss comes after 2 s and goes after 12 s",
        Path {
            rival: Some(Rival { from: 2 * SECOND, to: 12 * SECOND }),
            room: 40,
            end: 16 * SECOND,
            ..Path::PLAIN
        },
    ),
    (
        "longer-path",
        "the path becomes 120 ms longer after 2 s, and nobody yields",
        Path { longer: Some((2 * SECOND, 120_000)), end: 9 * SECOND, ..Path::PLAIN },
    ),
    (
        "loss",
        "one of 25 packets is lost at random, and a queue of three packets overflows; one acknowledgement of ten has no RTT sample",
        Path { lost_of_1000: 40, room: 3, sampleless: 10, end: 8 * SECOND, ..Path::PLAIN },
    ),
    (
        "jitter",
        "up to 10 ms of jitter in order, with the preset `interactive`: the floor of the target",
        Path { delay: 2_500, service: 4_000, jitter: 10_000, end: 5 * SECOND, ..Path::PLAIN },
    ),
    (
        "outage",
        "the link pauses from 2 to 5 s, timers at each tick",
        Path { pause: Some((2 * SECOND, 5 * SECOND)), has_timers: true, end: 8 * SECOND, ..Path::PLAIN },
    ),
    (
        "app-limited",
        "three packets every 100 ms",
        Path { frames: Some((100_000, 3)), has_timers: true, end: 5 * SECOND, ..Path::PLAIN },
    ),
    (
        "restart",
        "the application has nothing to send from 2 to 6 s, and packets that waited leave together",
        Path { idle: Some((2 * SECOND, 6 * SECOND)), end: 8 * SECOND, ..Path::PLAIN },
    ),
    (
        "ack-of-16",
        "one acknowledgement for 16 packets, or after 25 ms",
        Path { service: 1_000, acked_together: 16, end: 8 * SECOND, ..Path::PLAIN },
    ),
];

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tide-vectors").join(name).with_extension("txt")
}

/// `CELLCC_WRITE_DOCS` writes them anew.
#[test]
fn every_recorded_conversation_is_decided_as_it_was() {
    for (name, about, path) in RECORDED {
        if env::var_os("CELLCC_WRITE_DOCS").is_some() {
            fs::write(file(name), talk(&path).text(about)).unwrap();
        }
        let text = fs::read_to_string(file(name)).unwrap_or_default();
        let conversation = Conversation::read(&text);
        assert!(conversation.events.len() > 100, "{name}: set CELLCC_WRITE_DOCS=1 to write it");
        // Line by line, so that the first difference is what is shown.
        let again = conversation.decided_again().text(about);
        for (line, (was, is)) in text.lines().zip(again.lines()).enumerate() {
            assert_eq!(is, was, "{name}.txt, line {}: set CELLCC_WRITE_DOCS=1 to write it", line + 1);
        }
        assert_eq!(again.len(), text.len(), "{name}.txt");
    }
}

#[test]
fn the_conversations_are_about_what_they_say() {
    let competes = |name: &str| Conversation::read(&fs::read_to_string(file(name)).unwrap()).competes();
    assert_eq!(["steady", "loss", "jitter", "outage", "ack-of-16"].map(competes), [false; 5]);
    assert_eq!(["rival", "longer-path"].map(competes), [true; 2]);
}

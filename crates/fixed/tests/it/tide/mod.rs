//! Recorded conversations of Tide (docs/algorithms/tide-spec.md): the core decides them again, to the last bit.

mod conversation;
mod path;
mod prescribed;

use conversation::Conversation;
use path::{Frames, Path, Rival, SECOND, talk};
use std::path::PathBuf;
use std::{env, fs};

/// The conversations recorded on a path: name of the file, coverage, and path.
const ON_PATHS: [(&str, &str, Path); 15] = [
    (
        "start-up",
        "48 Mbit/s and 1.2 ms, where a tick has its least length",
        Path { service: 250, base_rtt: 1_200, end: SECOND / 5, ..Path::PLAIN },
    ),
    ("steady", "a steady link for long enough for a drain", Path { end: 12 * SECOND, ..Path::PLAIN }),
    (
        "rival",
        "a flow that halves its window on loss comes after 2 s and goes after 17 s",
        Path {
            rival: Some(Rival { from: 2 * SECOND, to: 17 * SECOND, window: 10 }),
            room: 40,
            end: 20 * SECOND,
            ..Path::PLAIN
        },
    ),
    (
        "fast-rival",
        "the same on 30 Mbit/s, `interactive`, one acknowledgement for 16 packets",
        Path {
            delay: 2_500,
            service: 400,
            room: 300,
            acked_together: 16,
            rival: Some(Rival { from: SECOND / 2, to: 14 * SECOND, window: 80 }),
            end: 15 * SECOND,
            ..Path::PLAIN
        },
    ),
    (
        "slow",
        "20 kbit/s, where a drain has just samples enough",
        Path { service: 620_000, end: 80 * SECOND, ..Path::PLAIN },
    ),
    (
        "longer-path",
        "the path becomes 120 ms longer after 2 s, and nobody yields",
        Path { longer: Some((2 * SECOND, 120_000)), end: 9 * SECOND, ..Path::PLAIN },
    ),
    (
        "loss",
        "2.5 % random loss, a queue of 30 packets, one acknowledgement for 8 packets, one of ten without a sample",
        Path {
            service: 500,
            room: 30,
            lost_of_1000: 25,
            acked_together: 8,
            sampleless: 10,
            end: 4 * SECOND,
            ..Path::PLAIN
        },
    ),
    (
        "heavy-loss",
        "a fifth of the packets is lost at random",
        Path { service: 2_000, lost_of_1000: 200, end: 3 * SECOND, ..Path::PLAIN },
    ),
    (
        "longer-while-limited",
        "the path becomes 20 ms longer while the application sends little, 0.1 s before it has much",
        Path {
            service: 2_000,
            longer: Some((2 * SECOND - 100_000, 20_000)),
            frames: Some(Frames { from: 0, to: 2 * SECOND, every: 40_000, packets: 4 }),
            end: 5 * SECOND,
            ..Path::PLAIN
        },
    ),
    (
        "longer-in-an-outage",
        "the link pauses from 2 to 4 s, and the path is 30 ms longer afterwards",
        Path {
            service: 6_000,
            longer: Some((3 * SECOND, 30_000)),
            pause: Some((2 * SECOND, 4 * SECOND)),
            end: 7 * SECOND,
            ..Path::PLAIN
        },
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
        Path {
            frames: Some(Frames { from: 0, to: u64::MAX, every: 100_000, packets: 3 }),
            has_timers: true,
            end: 5 * SECOND,
            ..Path::PLAIN
        },
    ),
    (
        "restart",
        "on a slow link the application has a packet every 0.5 s from 2 to 6 s, and then a download",
        Path {
            service: 16_000,
            frames: Some(Frames { from: 2 * SECOND, to: 6 * SECOND, every: SECOND / 2, packets: 1 }),
            end: 9 * SECOND,
            ..Path::PLAIN
        },
    ),
    (
        "ack-of-16",
        "one acknowledgement for 16 packets, or after 25 ms",
        Path { service: 1_000, acked_together: 16, end: 8 * SECOND, ..Path::PLAIN },
    ),
];

/// A function that returns a conversation with prescribed acknowledgements.
type Prescribed = fn() -> Conversation;

/// The conversations with prescribed acknowledgements: name of the file, coverage, and function.
const PRESCRIBED: [(&str, &str, Prescribed); 7] = [
    ("looks", "margins, what is forgotten after 15 s, and a rival that comes again", prescribed::looks),
    (
        "longer-by-the-round",
        "a rate that grows by a twentieth a round on a longer path, and a peak rate that fades",
        prescribed::longer_by_the_round,
    ),
    (
        "steps",
        "steps of the queue that stay, move, fall, or are none after a longer queue",
        prescribed::steps,
    ),
    ("drains", "drains that wait for samples, a pause, the largest target", prescribed::drains),
    ("losses", "random losses, a full queue, and losses that end, as drains show them", prescribed::losses),
    ("silences", "silences of 0.95 and 1.05 s, and one of the application", prescribed::silences),
    ("extremes", "the largest numbers", prescribed::extremes),
];

fn recorded() -> impl Iterator<Item = (&'static str, &'static str, Conversation)> {
    let on_paths = ON_PATHS.iter().map(|(name, about, path)| (*name, *about, talk(path)));
    on_paths.chain(PRESCRIBED.iter().map(|(name, about, talk)| (*name, *about, talk())))
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tide-vectors").join(name).with_extension("txt")
}

/// `CELLCC_WRITE_DOCS` writes the recordings again.
#[test]
fn every_recorded_conversation_is_decided_as_it_was() {
    for (name, about, today) in recorded() {
        if env::var_os("CELLCC_WRITE_DOCS").is_some() {
            fs::write(file(name), today.text(about)).unwrap();
        }
        let text = fs::read_to_string(file(name)).unwrap_or_default();
        let conversation = Conversation::read(&text);
        let (was, is) = (conversation.events.len(), today.events.len());
        assert_eq!(was, is, "events of {name}: set CELLCC_WRITE_DOCS=1 to write it");
        // The comparison goes line by line, so that the first difference is shown.
        let again = conversation.decided_again().text(about);
        for (line, (was, is)) in text.lines().zip(again.lines()).enumerate() {
            assert_eq!(is, was, "{name}.txt, line {}: set CELLCC_WRITE_DOCS=1 to write it", line + 1);
        }
        assert_eq!(again.len(), text.len(), "{name}.txt");
    }
}

#[test]
fn a_flow_competes_where_a_rival_or_a_longer_path_is_recorded_and_nowhere_else() {
    let competing = recorded().filter(|(_, _, conversation)| conversation.has_competed);
    let names: Vec<_> = competing.map(|(name, ..)| name).collect();
    assert_eq!(names, ["rival", "fast-rival", "longer-path", "looks", "longer-by-the-round", "steps"]);
}

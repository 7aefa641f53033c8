//! Bad input: a message that names file and line or flag, exit status 2, and no panic.

use crate::common::cellcc;
use std::fs;
use std::path::Path;

/// The run must end with status 2, nothing on standard output, and every one of `expected` in the message.
pub(crate) fn refused_in(folder: &Path, arguments: &[&str], expected: &[&str]) {
    let output = cellcc(folder).args(arguments).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert!(message.starts_with("error: ") && !message.contains("panicked"), "{arguments:?}: {message}");
    for part in expected {
        assert!(message.contains(part), "{arguments:?}: `{part}` is not in: {message}");
    }
}

pub(crate) fn compare_refused(arguments: &[&str], expected: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let all = [&["compare"], arguments].concat();
    refused_in(folder.path(), &all, expected);
    assert!(!folder.path().join("cellcc-out").exists(), "{arguments:?} left a folder");
}

#[test]
fn schemes_are_refused_with_what_there_is_instead() {
    compare_refused(&["--schemes", "nosuch"], &["unknown scheme `nosuch`", "cubic", "cellcc schemes"]);
    compare_refused(&["--schemes", "reminins"], &["unknown scheme `reminins`; did you mean `reminis`?"]);
    compare_refused(&["--schemes", "bbr4"], &["unknown scheme `bbr4`; did you mean `bbr2`?"]);
    compare_refused(&["--schemes", "reminis(ddt=40ms)"], &["no parameter `ddt`; did you mean `dtt`?"]);
    compare_refused(&["--schemes", "reminis(nosuch=1)"], &["no parameter `nosuch`", "dtt"]);
    compare_refused(&["--schemes", "reminis(dtt=0ms)"], &["dtt=0ms", "40ms"]);
    compare_refused(&["--schemes", "reminis(dtt=40)"], &["dtt=40", "40ms"]);
    compare_refused(&["--schemes", "reminis(dtt=40ms"], &["`)`"]);
    compare_refused(&["--schemes", " , "], &["--schemes names no scheme"]);
    compare_refused(&["--schemes", "cubic,cubic"], &["twice"]);
    compare_refused(&["--schemes", "cubic@70s"], &["starts at 70s", "--duration"]);
    compare_refused(&["--schemes", "cubic:sized(10)"], &["--schemes", "sized(10MB)"]);
    compare_refused(
        &["--schemes", "reminis(dtt={1.5x,2x)"],
        &["--schemes", "a `{` is not closed", "{0.1,0.5}"],
    );
    compare_refused(&["--schemes", "reminis(dtt={2x,40})"], &["dtt=40", "40ms"]);
    compare_refused(
        &["--schemes", "cubic,bbr", "--baseline", "vegas"],
        &["--baseline", "`vegas`", "cubic, bbr"],
    );
    // A Scenario's baseline stayed, and nothing said how to leave it out.
    compare_refused(
        &["--schemes", "cubic", "--baseline", "vegas"],
        &["`--baseline ''` leaves the baseline out"],
    );
    compare_refused(&["--background", "cubic@5"], &["--background", "`5`"]);
}

#[test]
fn links_and_queues_are_refused_with_what_was_meant_first() {
    compare_refused(&["--traces", "lte-drve"], &["no link named `lte-drve`; did you mean `lte-drive`?"]);
    for (given, meant) in [("100mbps", "100Mbit/s"), ("1.5Gbps", "1.5Gbit/s"), ("64kbit", "64kbit/s")] {
        compare_refused(&["--traces", given], &[&format!("error: did you mean `{meant}`? `{given}` is not")]);
    }
    compare_refused(&["--queue", "3200"], &["--queue <QUEUE>': did you mean `3200pkt`?"]);
}

/// It ran, changed nothing and said nothing.
#[test]
fn a_user_of_the_cell_without_a_flow_is_refused() {
    let cell = ["--cell", "proportional-fair:lte-drive,3g", "--duration", "1s", "--traces", "lte-drive"];
    let with = |schemes: &str, expected: &[&str]| {
        compare_refused(&[&cell[..], &["--schemes", schemes]].concat(), expected);
    };
    with("cubic", &["user 1 of the cell has no flow", "--background cubic#1"]);
    with("cubic+cubic#1,bbr+bbr#2", &["`cubic+cubic#1`", "user 2 of the cell has no flow"]);
}

#[test]
fn what_is_resumed_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    refused_in(folder.path(), &["compare", "--resume", "--out", "nowhere"], &["no such folder"]);
    assert!(!folder.path().join("nowhere").exists());
}

/// It took 576 MB and 7 s for half a second of simulation.
#[test]
fn a_report_is_wrong_within_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let with = |scale: &str| format!("schemes = ['natcp']\ntraces = ['3g']\nduration = '1s'\n{scale}");
    for (scale, value) in [
        ("[netassist]\nscale = '1e308x'", "netassist.scale = "),
        ("[netassist]\nscale = '101x'", "netassist.scale = 101x"),
        ("[vary]\n'netassist.scale' = ['1x', '4294967296x']", "netassist.scale = 4294967296x"),
    ] {
        fs::write(folder.path().join("x.toml"), with(scale)).unwrap();
        refused_in(
            folder.path(),
            &["compare", "--scenario", "x.toml"],
            &[value, "out of range; write 0x to 100x"],
        );
    }
}

#[test]
fn a_warm_up_leaves_something_to_measure() {
    compare_refused(&["--duration", "5s", "--warm-up", "5s"], &["--warm-up 5s", "--duration"]);
    compare_refused(&["--offset", "somewhere"], &["--offset", "random or fixed"]);
    compare_refused(&["--series", "few"], &["--series", "off, sampled or full"]);
}

#[test]
fn a_number_without_its_unit_is_refused_by_flag() {
    for (flag, value, example) in [
        ("--rtt", "20", "20ms"),
        ("--duration", "60", "20ms"),
        ("--queue", "3200", "3200pkt"),
        ("--loss", "1", "10%"),
        ("--mss", "1448", "B"),
        ("--series-bin", "100", "20ms"),
        ("--reverse-queue", "9", "3200pkt"),
    ] {
        compare_refused(&[flag, value], &[flag, example]);
    }
    for (flag, value, meant) in [
        ("--rtt", "20", "20ms"),
        ("--duration", "5m", "5min"),
        ("--duration", "60", "60s"),
        ("--loss", "1", "1%"),
        ("--mss", "1448", "1448B"),
    ] {
        compare_refused(&[flag, value], &[&format!("did you mean `{meant}`? `{value}` is not")]);
    }
    compare_refused(&["--traces", "rate=100"], &["rate", "Mbit/s"]);
}

#[test]
fn a_queue_is_refused_by_the_part_that_is_wrong() {
    compare_refused(&["--queue", "codel(tarjet=5ms)"], &["--queue", "`tarjet=5ms`", "`target=5ms`"]);
    compare_refused(&["--queue", "pie(update=1us)"], &["--queue", "`update=1us`", "1ms or more"]);
    compare_refused(&["--queue", "sfq(10pkt)"], &["--queue", "`sfq(10pkt)`", "`drophead(LIMIT)`"]);
    compare_refused(&["--queue", "red(10pkt)"], &["--queue", "`10pkt`", "`limit=1000pkt`"]);
}

#[test]
fn a_file_of_steps_is_refused_by_its_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("steps.txt"), "5ms@5s\n# more\n9ms@zero\n").unwrap();
    let compare = |arguments: &[&str], expected: &[&str]| {
        refused_in(folder.path(), &[&["compare"], arguments].concat(), expected);
    };
    compare(&["--extra-delay", "@steps.txt"], &["extra delay: steps.txt:3", "`9ms@zero`"]);
    compare(&["--extra-loss", "@steps.txt"], &["extra loss: steps.txt:1", "`5ms@5s`", "0%@5s"]);
    compare(&["--extra-loss", "@none.txt"], &["none.txt: cannot be read"]);
}

#[test]
fn what_http_cannot_have_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    refused_in(
        folder.path(),
        &["serve", "--http", ".", "--scheme", "rbbr"],
        &["--http: scheme `rbbr`", "receiver"],
    );
    refused_in(folder.path(), &["serve", "--http", "none"], &["--http: none is not a folder"]);
}

/// A device is read for ever: `/dev/zero` took gigabytes in seconds, and a Scenario of 3 GB ended in an abort.
#[cfg(unix)]
#[test]
fn what_would_fill_memory_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let zero = ["/dev/zero", "is a device", "name a file"];
    compare_refused(&["--traces", "/dev/zero"], &zero);
    compare_refused(&["--extra-delay", "@/dev/zero"], &zero);
    compare_refused(&["--extra-loss", "@/dev/zero"], &zero);
    compare_refused(&["--scenario", "/dev/zero"], &zero);
    refused_in(folder.path(), &["trace", "info", "/dev/zero"], &zero);
    refused_in(folder.path(), &["replay", "/dev/zero"], &zero);
    refused_in(folder.path(), &["serve", "--cert", "/dev/zero", "--key", "/dev/zero"], &zero);
    #[cfg(target_os = "linux")]
    refused_in(folder.path(), &["graph", "/dev/zero"], &zero);
    // Long, and without a block on the disk.
    let long = fs::File::create(folder.path().join("long.toml")).unwrap();
    long.set_len(3 << 30).unwrap();
    refused_in(
        folder.path(),
        &["compare", "--scenario", "long.toml"],
        &["long.toml", "holds more than 16MB"],
    );
    refused_in(folder.path(), &["compare", "--traces", "./long.toml"], &["long.toml", "more than 256 MiB"]);
    refused_in(
        folder.path(),
        &["compare", "--extra-delay", "@long.toml"],
        &["long.toml", "more than 256 MiB"],
    );
    // Steps, unlike a recording, stand in every Record.
    fs::write(folder.path().join("steps.txt"), "10ms@5s,\n".repeat(200_000)).unwrap();
    refused_in(
        folder.path(),
        &["compare", "--extra-delay", "@steps.txt"],
        &["steps.txt", "more than 1000 kB"],
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = |content: &str, arguments: &[&str]| {
        cellcc(folder.path()).args(arguments).args(["--duration", "1s"]).write_stdin(content).assert()
    };
    let cubic = ["compare", "--schemes", "cubic"];
    run("0 10\n1 20\n", &[&cubic[..], &["--traces", "/dev/stdin"]].concat()).success();
    // Every run has the delays, and the Scenario that is kept holds them.
    let delays = ["--traces", "10Mbit/s", "--extra-delay", "@/dev/stdin", "--out", "delays"];
    run("5ms@1s\n9ms@1s\n", &[&cubic[..], &delays].concat()).success();
    let kept = fs::read_to_string(folder.path().join("delays/scenario.toml")).unwrap();
    assert!(kept.contains("extra_delay = \"5ms@1s,9ms@1s\""), "{kept}");
    let twice = ["--traces", "/dev/stdin", "--driver", "sim,quic-virtual"];
    let output = run("0 10\n1 20\n", &[&cubic[..], &twice].concat()).code(2).get_output().stderr.clone();
    let message = String::from_utf8(output).unwrap();
    assert!(message.contains("a pipe can be read only once: write its content to a file"), "{message}");
}

/// Each of these ran, and measured nothing.
#[test]
fn a_path_that_no_packet_gets_through_is_refused_with_what_to_do() {
    let small = ["a packet has 1.5kB", "write 1.5kB or more"];
    compare_refused(&["--queue", "1499B"], &[&["--queue 1.499kB"][..], &small].concat());
    compare_refused(&["--queue", "codel(limit=100B)"], &["--queue codel(limit=100B)", "1.5kB"]);
    compare_refused(&["--reverse-queue", "51B"], &["--reverse-queue 51B", "a packet has 52B"]);
    compare_refused(
        &["--traces", "1bit/s"],
        &["`rate=1bit/s` never carries", "the slowest is `rate=8bit/s`"],
    );
    let slow =
        ["carries 60B in the 60s of the run", "a packet has 1.5kB", "faster link", "longer --duration"];
    compare_refused(&["--traces", "8bit/s"], &[&["`rate=8bit/s`"][..], &slow].concat());
    compare_refused(&["--reverse-rate", "4B/s", "--duration", "10s"], &["carries 40B", "a packet has 52B"]);
    compare_refused(&["--extra-delay", "61s"], &["--extra-delay 61s", "at most 60s"]);
    compare_refused(&["--extra-delay", "5ms@1s,2h@1s"], &["--extra-delay 7200s", "at most 60s"]);
}

#[test]
fn values_out_of_range_are_refused_by_flag() {
    for (flag, value) in [
        ("--rtt", "0ms"),
        ("--rtt", "1h"),
        ("--queue", "0pkt"),
        ("--queue", "999999999pkt"),
        ("--queue", "codel(limit=999999999pkt)"),
        ("--jitter", "61s"),
        ("--queue", "9000GB"),
        ("--duration", "0s"),
        ("--duration", "48h"),
        ("--loss", "100%"),
        ("--mss", "1B"),
        ("--mss", "1MB"),
        ("--header", "1MB"),
        ("--ack-every", "0"),
        ("--recovery", "tcp"),
        ("--series-bin", "1us"),
        ("--seeds", "3..1"),
        ("--jobs", "0"),
    ] {
        compare_refused(&[flag, value], &[flag]);
    }
    compare_refused(&["--duration", "24h", "--series-bin", "1ms"], &["--series-bin", "wider"]);
    compare_refused(&["--traces", "rate=0Mbit/s"], &["never carries"]);
    compare_refused(&["--shard", "3/2", "--out", "x"], &["--shard", "2/8"]);
}

#[test]
fn what_a_scenario_says_wrongly_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = |text: &str| fs::write(folder.path().join("s.toml"), text).unwrap();
    let refused =
        |expected: &[&str]| refused_in(folder.path(), &["compare", "--scenario", "s.toml"], expected);
    scenario("schemes = ['cubic']\ntraces = ['3g']\n[path]\nqueu = '10pkt'\n");
    refused(&["s.toml:4", "queu"]);
    scenario("schemes = ['cubic']\nduration = 60\n");
    refused(&["s.toml:2"]);
    scenario("schemes = [\n");
    refused(&["s.toml:"]);
    scenario("schemes = ['cubic']\ntraces = ['3g']\n[path]\nrtt = '0s'\n");
    refused(&["path.rtt"]);
    for (line, expected) in [
        ("netassist.period = '0s'", ["netassist.period = 0s", "1ms to 60s"]),
        ("netassist.delay = '11s'", ["netassist.delay = 11s", "0s to 10s"]),
        ("netassist.loss = '101%'", ["netassist.loss", "0% to 100%"]),
        ("netassist.outages = ['30s..20s']", ["s.toml:3", "FROM..TO"]),
        ("netassist.late = '61s'", ["netassist.late = 61s", "0s to 60s"]),
        ("netassist.foresight = '61s'", ["netassist.foresight", "0s to 60s"]),
        ("netassist.overtaken_by = '2h'", ["netassist.overtaken_by", "0s to 60s"]),
        ("netassist.duplicated = '101%'", ["netassist.duplicated", "0% to 100%"]),
        ("netassist.reordered = '101%'", ["netassist.reordered", "0% to 100%"]),
        ("netassist.wrong_from = 20", ["s.toml:3", "a time with its unit"]),
        ("path.reordered = '101%'", ["s.toml:3", "a share such as `1%`"]),
    ] {
        scenario(&format!("schemes = ['natcp']\ntraces = ['3g']\n{line}\n"));
        refused(&expected);
    }
    scenario("schemes = ['cubic']\n");
    refused(&["at least one trace"]);
    let vary = |lines: &str| scenario(&format!("schemes = ['cubic']\ntraces = ['3g']\n[vary]\n{lines}\n"));
    vary("'path.queu' = ['10pkt']");
    refused(&["s.toml: [vary] path.queu", "unknown field `queu`", "`queue`"]);
    vary("'path.queue' = ['10pkt', '33']");
    refused(&["s.toml: [vary] path.queue = \"33\"", "3200pkt"]);
    vary("'path.rtt' = ['10ms', '0s']");
    refused(&["s.toml: [vary] path.rtt=0s", "out of range", "20ms"]);
    vary("'path.rtt' = '10ms'");
    refused(&["s.toml:3", "takes a list"]);
    vary("'seeds' = ['1']");
    refused(&["s.toml: [vary] seeds", "not a condition"]);
    vary("'path.rtt' = ['10ms', '10ms']");
    refused(&["limit, path.rtt=10ms", "twice"]);
    refused_in(folder.path(), &["compare", "--scenario", "none.toml"], &["none.toml"]);
}

#[test]
fn a_list_written_with_spaces_is_refused_with_its_commas_or_as_a_sweep() {
    compare_refused(
        &["--traces", "3g", "--schemes", "cubic", "bbr", "vegas", "--rtt", "20ms"],
        &["--schemes takes a list with commas between its parts: --schemes cubic,bbr,vegas"],
    );
    compare_refused(&["-s", "cubic", "bbr"], &["-s cubic,bbr"]);
    compare_refused(&["-s", "cubic", "--vary", "x"], &["unexpected argument '--vary' found"]);
    compare_refused(&["--rtt", "20ms", "bbr"], &["unexpected argument 'bbr' found"]);
    let sweep = "--rtt takes one value; a Scenario file takes several, as a sweep: [vary] \"path.rtt\" = [\"10ms\", \"20ms\"]";
    compare_refused(&["--rtt", "10ms", "20ms"], &[sweep]);
}

/// Which of them was left to the reader.
#[cfg(target_os = "linux")]
#[test]
fn an_argument_that_is_not_utf_8_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.mbps");
    let refused = cellcc(folder.path()).args(["trace", "info", "a.mbps"]).arg(name).assert().code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert_eq!(message, "error: the argument \"caf\\xE9.mbps\" is not UTF-8; rename the file\n");
}

#[test]
fn what_no_receiver_does_is_refused() {
    compare_refused(&["--acks", "never"], &["`never`", "every-packet", "delayed", "quic"]);
    compare_refused(&["--acks", "quic(threshold=5000)"], &["threshold=1", "at most 1000"]);
    compare_refused(&["--offload", "lro"], &["`lro`", "gro"]);
    let twice = ["--acks", "delayed", "--ack-every", "2"];
    compare_refused(&twice, &["--acks delayed", "--ack-every 2", "leave either out"]);
    let quic = ["--driver", "quic-virtual", "--schemes", "cubic"];
    compare_refused(&[&quic[..], &["--acks", "delayed"]].concat(), &["TCP's", "quic-virtual", "\"quic\""]);
    compare_refused(&[&quic[..], &["--offload", "gro"]].concat(), &["endpoint.offload", "quic-virtual"]);
    let filter = "droptail(9pkt, ack-filter)";
    compare_refused(&[&quic[..], &["--reverse-queue", filter]].concat(), &["ack-filter", "quic-virtual"]);
    let folder = tempfile::tempdir().unwrap();
    refused_in(folder.path(), &["shell", "--up-queue", filter], &["--up-queue", "leave ack-filter out"]);
}

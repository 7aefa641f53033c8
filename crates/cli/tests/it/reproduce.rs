//! `cellcc reproduce`: claims in a repository of its own, and the tables of pages.

use crate::common::cellcc;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

const SCENARIO: &str = "schemes = ['cubic']\nbaseline = 'cubic'\nduration = '2s'\ntraces = ['rate=12Mbit/s']\n[path]\nrtt = '20ms'\n";

/// Ten packets of 1500 bytes in 20 ms and a packet's millisecond are 5.7 Mbit/s; the first round is without data.
const CLAIMS: &str = "[data.ten]\nscenario = 'scenario.toml'\n\n[data.recorded]\nscenario = 'scenario.toml'\nrecordings = 'lte/a.down'\n\n\
    [[claim]]\nid = 'REM-01'\nsource = 'Table 2'\nsays = 'ten packets'\nreports = '5.7 Mbit/s'\npaper = 5.7\nkind = 'time'\n\
    value = 'ten: throughput_mbit_s(fixed-window(window=10pkt))'\n\n\
    [[claim]]\nid = 'REM-02'\nsource = 'Figure 3'\nsays = 'a recording'\nreports = '1'\npaper = 1\nkind = 'ratio'\n\
    value = 'recorded: mean(utilisation(cubic))'\n\n\
    [[claim]]\nid = 'REM-03'\nsource = 'Figure 4'\nsays = 'as one packet more'\nreports = 'same'\npaper = 1\nkind = 'ratio'\n\
    value = 'ten: throughput_mbit_s(fixed-window(window=11pkt)) / throughput_mbit_s(fixed-window(window=10pkt))'\n";

/// A folder with the command's input.
fn repository() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("scenario.toml", SCENARIO);
    write("claims/reminis.toml", CLAIMS);
    for name in ["rbbr", "natcp", "verus"] {
        write(&format!("claims/{name}.toml"), "");
    }
    write("claims/recordings.toml", "'lte/a.down' = 'hash'\n");
    write("README.md", "# A\n\n<!-- scorecard -->\n<!-- /scorecard -->\n");
    write("docs/fidelity/claims.md", "");
    folder
}

fn reproduce(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        cellcc(folder).arg("reproduce").args(arguments).env_remove("CELLCC_TRACES").output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

fn assert_says(said: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(said.contains(part), "`{part}` is not in:\n{said}"));
}

#[test]
fn what_is_as_before_ends_with_0_and_a_verdict_that_moved_is_named() {
    let folder = repository();
    let (status, said) = reproduce(folder.path(), &[]);
    assert_eq!(status, Some(1), "{said}");
    assert_says(
        &said,
        &[
            "REM-01: was not judged, is hit",
            "left out: recorded: CELLCC_TRACES does not name",
            "1 of them left out",
            "judged without them: 2 of 3 claims",
        ],
    );

    assert_eq!(reproduce(folder.path(), &["--write"]).0, Some(0));
    let state = fs::read_to_string(folder.path().join("claims/state.tsv")).unwrap();
    assert!(state.contains("REM-01\tpaper\t5.7") && !state.contains("REM-02"), "{state}");
    let readme = fs::read_to_string(folder.path().join("README.md")).unwrap();
    assert!(readme.contains("| Reminis | 3 | 1 | 1 | 0 | 1 |"), "{readme}");
    let (status, said) = reproduce(folder.path(), &[]);
    assert_eq!(status, Some(0), "{said}");

    let moved = CLAIMS.replace("window=10pkt))'\n\n", "window=40pkt))'\n\n");
    fs::write(folder.path().join("claims/reminis.toml"), moved).unwrap();
    let (status, said) = reproduce(folder.path(), &["table-2", "--out", "out"]);
    assert_eq!(status, Some(1), "{said}");
    assert_says(&said, &["REM-01: was hit, is miss"]);
    let card = fs::read_to_string(folder.path().join("out/scorecard.json")).unwrap();
    assert!(card.contains("\"verdict\": \"miss\"") && card.contains("\"before\": \"hit\""), "{card}");
    assert!(fs::read_to_string(folder.path().join("out/claims.html")).unwrap().contains("ten packets"));
}

#[test]
fn a_claim_about_published_weights_is_judged_where_their_folder_is_named() {
    let folder = repository();
    let published = format!("{}/../../python/training/policy.safetensors", env!("CARGO_MANIFEST_DIR"));
    fs::copy(published, folder.path().join("a.safetensors")).unwrap();
    let claims = CLAIMS.replacen("fixed-window(window=10pkt)", "learned(model=a.safetensors)", 1);
    fs::write(folder.path().join("claims/reminis.toml"), claims).unwrap();
    // A gate that judges nothing is not green, and says how much it judged.
    let judged = |models: &str, claims: &[&str]| {
        let mut command = cellcc(folder.path());
        let output = command.arg("reproduce").args(claims).env("CELLCC_MODELS", models).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), said)
    };
    for (models, expected) in [
        ("", "left out: ten: CELLCC_MODELS does not name the folder of published weights"),
        ("docs", "left out: ten: docs/a.safetensors is not there"),
    ] {
        let (status, said) = judged(models, &["REM-01"]);
        assert_says(&said, &[expected]);
        assert!(said.ends_with("judged without them: 0 of 1 claims, 0 numbers of pages\n"), "{said}");
        assert_eq!(status, Some(1), "{said}");
    }
    assert_says(&judged("./", &["REM-01"]).1, &["REM-01: was not judged, is miss"]);
}

const FIGURE: &str = "[[figure]]\nid = 'REM-Fig-3'\nsource = 'Fig 3'\nsays = 'windows'\nlines = ['10pkt', '20pkt']\npanels = [\n\
    { axes = ['RTT, ms', 'Mbit/s'], x = 'ten: rtt_mean_ms(fixed-window(window=$s))', y = 'ten: throughput_mbit_s(fixed-window(window=$s))', \
    paper = [{ line = '20pkt', x = '22', y = '11' }, { y = '6', says = 'half' }] },\n\
    { axes = ['Time, s', 'Mbit/s'], y = 'ten: window_mean(fixed-window(window=$s); throughput_mbit_s)', \
    capacity = 'ten: window_mean(fixed-window(window=10pkt); capacity_mbit_s)' },\n]\n";

#[test]
fn a_figure_of_a_paper_is_drawn_from_its_runs_with_the_papers_values() {
    let folder = repository();
    fs::write(folder.path().join("claims/reminis.toml"), format!("{CLAIMS}{FIGURE}")).unwrap();
    let page = |words: &[&str]| {
        reproduce(folder.path(), &[words, &["--out", words[0]]].concat());
        fs::read_to_string(folder.path().join(words[0]).join("claims.html")).unwrap()
    };
    let drawn = page(&["REM-Fig-3"]);
    for part in
        ["<figure id=\"REM-Fig-3\">", "20pkt", "the paper", "half", "capacity", "<polygon", "<polyline"]
    {
        assert!(drawn.contains(part), "`{part}` is not in:\n{drawn}");
    }
    assert!(!drawn.contains("<table>") && !drawn.contains("NaN"), "only the figure was asked for");
    // By its place it comes with the claims of that place; a claim alone runs nothing but its own.
    assert!(page(&["reminis"]).contains("<a href=\"#REM-01\">REM-01</a> <span class=\"hit\">hit</span>"));
    assert!(!page(&["REM-01"]).contains("<figure"));
}

#[test]
fn runs_that_two_claims_share_are_run_once_and_are_there_after_an_interruption() {
    let folder = repository();
    reproduce(folder.path(), &["--out", "out", "REM-01", "REM-03"]);
    let runs = || fs::read_to_string(folder.path().join("out/runs.jsonl")).unwrap();
    let before = runs();
    assert_eq!(before.lines().count(), 2);
    let (_, said) = reproduce(folder.path(), &["--out", "out", "REM-01", "REM-03", "--resume"]);
    assert_says(&said, &["2 claims at scale paper"]);
    assert_eq!(runs(), before);
    for share in ["1/2", "2/2"] {
        let out = format!("share{}", &share[..1]);
        reproduce(folder.path(), &["--out", &out, "--shard", share, "REM-01", "REM-03"]);
    }
    cellcc(folder.path()).args(["merge", "share1", "share2", "--out", "merged"]).assert().success();
    let (_, said) = reproduce(folder.path(), &["--out", "merged", "--resume", "REM-01", "REM-03"]);
    assert_says(&said, &["2 claims at scale paper"]);
    assert_eq!(fs::read_to_string(folder.path().join("merged/runs.jsonl")).unwrap(), before);
}

#[test]
fn what_does_not_exist_is_named_with_file_line_and_what_to_write() {
    let folder = repository();
    for (from, to, expected) in [
        (
            "fixed-window(window=10pkt))'\n\n",
            "fixed-windw(window=10pkt))'\n\n",
            vec!["fixed-windw", "did you mean `fixed-window`?"],
        ),
        (
            "ten: throughput_mbit_s(fixed-window(window=10pkt))'\n\n",
            "ten: throughput(cubic)'\n\n",
            vec!["claims/reminis.toml:15: ", "`throughput` is no metric"],
        ),
        (
            "ten: throughput",
            "tn: throughput",
            vec!["claims/reminis.toml:8: REM-01", "`tn` is no data set", "did you mean `ten`?"],
        ),
        ("scenario = 'scenario.toml'\n\n", "scenario = 'senario.toml'\n\n", vec!["senario.toml"]),
        (
            "window=10pkt))'\n\n",
            "window=10pkt); path.queue=3pkt)'\n\n",
            vec!["REM-01", "path.queue=3pkt; nothing is varied there"],
        ),
    ] {
        let text = CLAIMS.replacen(from, to, 1);
        fs::write(folder.path().join("claims/reminis.toml"), text).unwrap();
        let (status, said) = reproduce(folder.path(), &["REM-01"]);
        assert_eq!(status, Some(2), "{said}");
        assert_says(&said, &expected);
    }
    fs::write(folder.path().join("claims/reminis.toml"), CLAIMS).unwrap();
    assert_says(&reproduce(folder.path(), &["REM-91"]).1, &["did you mean `REM-01`?"]);
    let elsewhere = tempfile::tempdir().unwrap();
    assert_says(
        &reproduce(elsewhere.path(), &[]).1,
        &["claims/reminis.toml: ", "in a clone of the repository"],
    );
}

const RUN: &str = "cellcc compare --schemes 'fixed-window(window={10pkt,20pkt})' --traces 12Mbit/s --rtt 20ms --duration 2s";

/// A page with a table, and a number of a claim in running text.
fn page(throughput: &str, rtt: &str, claim: &str) -> String {
    format!(
        "# Results\n\n<!-- checked: {RUN}\nrows: fixed-window(window=10pkt) | -\n\
         columns: - | throughput_mbit_s rtt_mean_ms -->\n<!-- unchecked: no reason -->\n\n\
         | window | Mbit/s, ms |\n|---|---|\n| 10 | {throughput}, **{rtt}** (paper: 7) |\n| 20 | by hand |\n\n\
         It is {claim}<!-- REM-01 --> Mbit/s.\n"
    )
}

fn checked(folder: &Path, text: &str) -> (Option<i32>, String) {
    fs::write(folder.join("page.md"), text).unwrap();
    reproduce(folder, &["--docs", "page.md"])
}

#[test]
fn a_number_of_a_page_that_drifted_is_named_with_its_line_and_what_it_is_now() {
    let folder = repository();
    for (text, status, expected) in [
        (page("5.7", "21.0", "5.7"), 0, vec!["3 numbers of pages checked: 0 drifted"]),
        (page("5.8", "21.0", "5.7"), 1, vec!["last digit: ", "page.md:10: ", "5.8 in the text, 5.7"]),
        (page("5.7", "42.0", "5.7"), 1, vec!["DRIFTED: ", "page.md:10: ", "42.0 in the text, 21.0"]),
        (page("5.7", "21.0", "6.9"), 1, vec!["DRIFTED: ", "page.md:13: REM-01: 6.9 in the text"]),
        (
            page("5.7", "21.0", "5.7").replace("rows: fixed", "rows: broken"),
            2,
            vec!["page.md:10: ", "no runs of `broken-window"],
        ),
        (page("5.7", "21.0", "5.7").replace("| -\n", "\n"), 2, vec!["1 rows in the comment, 2 in the table"]),
        (
            page("5.7", "21.0", "5.7").replace("REM-01", "REM-91"),
            2,
            vec!["page.md:13: there is no claim REM-91"],
        ),
        (
            page("5.7", "21.0", "5.7").replace("cellcc compare", "cellcc trace"),
            2,
            vec!["page.md:3: only `cellcc compare"],
        ),
        (page("5.7", "21.0", "5.7").replace("--rtt 20ms", "--rt 20ms"), 2, vec!["page.md:3: ", "--rt"]),
    ] {
        let (found, said) = checked(folder.path(), &text);
        assert_eq!(found, Some(status), "{text}\n{said}");
        assert_says(&said, &expected);
    }
    fs::write(folder.path().join("page.md"), page("5.8", "42.0", "6.9")).unwrap();
    reproduce(folder.path(), &["--docs", "page.md", "--write"]);
    assert_eq!(fs::read_to_string(folder.path().join("page.md")).unwrap(), page("5.7", "21.0", "5.7"));
}

#[test]
fn a_ratio_may_be_to_what_a_scheme_does_under_another_condition() {
    let folder = repository();
    let text = "schemes = ['fixed-window(window=10pkt)']\ntraces = ['rate=100Mbit/s']\nduration = '4s'\n\
                [vary]\n'path.rtt' = ['20ms', '40ms']\n";
    fs::write(folder.path().join("varied.toml"), text).unwrap();
    // Ten packets in twice the time. The ratio to the scheme under the same condition would be 1.
    for (shown, status) in [("0.50", 0), ("1.00", 1)] {
        let text = format!(
            "<!-- checked: cellcc compare --scenario varied.toml\nrows: fixed-window(window=10pkt) path.rtt=40ms\n\
             columns: - | throughput_mbit_s/fixed-window(window=10pkt)[path.rtt=20ms] -->\n\n\
             | RTT | of 20 ms |\n|---|---|\n| 40 ms | {shown} |\n"
        );
        let (found, said) = checked(folder.path(), &text);
        assert_eq!(found, Some(status), "{shown}: {said}");
    }
}

#[test]
fn means_over_traces_are_compared_with_the_interval_of_that() {
    let folder = repository();
    // Twenty packets fill 8 to 12 Mbit/s; of 100 Mbit/s they are twice as much as ten, and a third of the way to forty. An interval
    // needs ten traces.
    let run = "cellcc compare --schemes 'fixed-window(window={10pkt,20pkt,40pkt})' --rtt 20ms --duration 4s \
               --traces {8,9,10,11,12}Mbit/s {100,110,120,130,140}Mbit/s";
    let (key, ten) = ("throughput_mbit_s", "fixed-window(window=10pkt)");
    let way = format!("{ten}..fixed-window(window=40pkt)");
    for (shown, status) in [
        ("1.87 | 1.88 (1.74 to 1.985) | 0.458 (0.363 to 0.659)", 0),
        ("1.87 | 1.87 (1.74 to 1.985) | 0.458 (0.363 to 0.659)", 1),
        ("1.87 | 1.88 (1.80 to 1.985) | 0.458 (0.363 to 0.659)", 1),
        ("1.87 | 1.88 (1.74 to 1.985) | 0.500 (0.363 to 0.659)", 1),
        ("1.87 | 1.88 (1.74 to 1.985) | 0.458 (0.363)", 1),
    ] {
        let text = format!(
            "<!-- checked: {run}\nrows: fixed-window(window=20pkt)\ncolumns: - | {key}/{ten} | \
             means:{key}/{ten} interval:means:{key}/{ten} | gap:{key}/{way} interval:gap:{key}/{way} -->\n\n\
             | window | ratios | of the means | of the way |\n|---|---|---|---|\n| 20 | {shown} |\n"
        );
        let (found, said) = checked(folder.path(), &text);
        assert_eq!(found, Some(status), "{shown}: {said}");
    }
}

/// The files of this repository: 36 s on two processors where nothing else runs.
#[test]
fn all_claims_that_need_no_recordings_are_judged_as_before_on_any_machine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (status, said) = reproduce(&root, &["--scale", "smaller", "--out", out.to_str().unwrap()]);
    assert_eq!(status, Some(0), "{said}");
    assert_says(
        &said,
        &["226 claims at scale smaller", "180 of them left out", "CELLCC_TRACES does not name"],
    );
}

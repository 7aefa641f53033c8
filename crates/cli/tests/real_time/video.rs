//! `cellcc video`, with Chromium and a stand-in for the player, which plays a sound.

use cellcc_test_support::{alone, needs_punctuality, not_judged, skip};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Calls the page as dash.js does.
const PLAYER: &str = "const dashjs = {MediaPlayer: () => ({create: () => {
  const calls = {};
  return {
    on: (name, call) => calls[name] = call,
    getRepresentationsByType: () => [{bandwidth: 4e6}, {bandwidth: 8e6}],
    initialize: (video) => {
      calls.streamInitialized();
      calls.fragmentLoadingCompleted({request: {type: 'MediaSegment', startTime: 0, representation: {bandwidth: 4e6}}});
      video.src = 'clip/film.wav';
      video.play();
    },
  };
}})};";

/// Ten seconds of silence.
fn sound() -> Vec<u8> {
    const RATE: u32 = 8000;
    let data = 10 * 2 * RATE;
    let fields = [16, 1 | 1 << 16, RATE, 2 * RATE, 2 | 16 << 16].map(u32::to_le_bytes).concat();
    let (all, part) = ((36 + data).to_le_bytes(), data.to_le_bytes());
    [&b"RIFF"[..], &all, b"WAVEfmt ", &fields, b"data", &part, &vec![0; data as usize]].concat()
}

fn has_browser() -> bool {
    ["chromium", "chromium-browser"].iter().any(|name| Command::new(name).arg("--version").output().is_ok())
}

fn is_sound(run: &Value) -> bool {
    run["spoilt"] == json!([])
}

/// Standard output and the lines of runs.jsonl. Only a busy machine, which spoils runs, makes the command fail.
fn video(folder: &Path, arguments: &[&str]) -> (String, Vec<Value>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cellcc"));
    command.current_dir(folder).env("XDG_STATE_HOME", folder);
    command.args(["video", "--down", "20Mbit/s", "--rtt", "20ms", "--duration", "3s", "--out", "out"]);
    let output = command.args(arguments).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    let runs = fs::read_to_string(folder.join("out/runs.jsonl")).expect(&message);
    let runs: Vec<_> = runs.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let may_fail = output.status.code() == Some(1) && !runs.iter().all(is_sound);
    assert!(output.status.success() || may_fail, "{message}");
    (String::from_utf8(output.stdout).unwrap(), runs)
}

#[test]
fn a_film_is_played_behind_the_link_by_schemes_in_turn_and_resume_goes_on_with_those_that_are_missing() {
    if !has_browser() {
        return skip("chromium is not installed (apt-get install chromium)");
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("clip")).unwrap();
    for (name, content) in
        [("player.js", PLAYER.as_bytes()), ("clip/manifest.mpd", b""), ("clip/film.wav", &sound())]
    {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let flags = ["--player", "player.js", "--clip", "clip", "--runs", "1", "--schemes"];
    // A busy machine spoils runs, and says so; and the browser alone keeps two processors busy.
    let (_, first) = video(folder.path(), &[&flags[..], &["cubic"]].concat());
    let (table, runs) = video(folder.path(), &[&flags[..], &["cubic,tide", "--resume"]].concat());
    let missing: &[&str] = if is_sound(&first[0]) { &["tide"] } else { &["cubic", "tide"] };
    let schemes: Vec<_> = runs.iter().map(|run| run["scheme"].as_str().unwrap()).collect();
    assert_eq!(schemes, [&["cubic"], missing].concat());
    for scheme in ["cubic", "tide"] {
        let has_result = runs.iter().any(|run| run["scheme"] == scheme && is_sound(run));
        assert_eq!(has_result, table.contains(scheme), "{table}");
    }
    let sound: Vec<_> = runs.iter().filter(|run| is_sound(run)).collect();
    if sound.is_empty() {
        return not_judged(format!("each run was spoilt: {}", runs[0]["spoilt"]));
    }
    for run in sound {
        let film = &run["outcome"]["film"];
        assert!(film["startup_s"].as_f64().unwrap() > 0.0, "{run}");
        assert_eq!(film["segments_mbit_s"], json!([4.0]));
        assert_eq!(film["best_mbit_s"], 8.0);
        let first = &run["samples"][0];
        assert!(first["buffer_s"].as_f64().unwrap() > 5.0, "it plays what it has: {run}");
    }
    assert!(folder.path().join("out/report/report.html").is_file());
}

mod punctual {
    use super::*;

    #[test]
    fn a_page_says_when_its_last_picture_came_and_frames_say_how_late_they_are() {
        if !has_browser() {
            return skip("chromium is not installed (apt-get install chromium)");
        }
        needs_punctuality(|| {
            let folder = tempfile::tempdir().unwrap();
            let (_, runs) = video(folder.path(), &["--page", "--runs", "1", "--schemes", "tide"]);
            let page = &runs[0]["outcome"]["page"];
            // 2.1 MB at 20 Mbit/s.
            assert!(page["load_s"].as_f64().unwrap() > 0.8, "{page}");
            let folder = tempfile::tempdir().unwrap();
            let (_, runs) =
                video(folder.path(), &["--frames", "2Mbit/s", "--runs", "1", "--schemes", "tide"]);
            let frames = &runs[0]["outcome"]["frames"];
            assert!(frames["frames"].as_f64().unwrap() > 100.0, "{frames}");
            assert!(frames["delay_p50_ms"].as_f64().unwrap() > 10.0, "{frames}");
        });
    }
}

//! The folder that the server shows: a page that measures, and the media that it plays or loads.

use super::{Setup, What};
use crate::exit::{Exit, tell, unwritten, write_file};
use cellcc_units::Span;
use cellcc_units::output::WholeFile;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const FILM: &str = include_str!("film.html");
const PAGE: &str = include_str!("page.html");
const FRAMES: &str = include_str!("frames.html");
const PLAYER: &str = "dash.all.min.js";
const MANIFEST: &str = "manifest.mpd";

/// Pictures of a page, from 1 to 40.6 kB in equal steps: 2.1 MB. Half of all pages have 71 requests and 2.4 MB and less (Web
/// Almanac 2024, page weight).
const PICTURES: u32 = 100;
const SMALLEST_PICTURE: usize = 1000;
const STEP: usize = 400;
/// Rates of a film that is made, in kbit/s.
const RATES: [u32; 6] = [400, 800, 1600, 3000, 5000, 8000];
/// A made video is longer than its shown part, and never ends early.
const SPARE_S: u64 = 4;

/// Makes the folder. `player` and `clip` are for a film.
pub(crate) fn make(
    folder: &Path,
    setup: &Setup,
    clip: Option<&Path>,
    player: Option<&Path>,
) -> Result<PathBuf, Exit> {
    let write = |name: &str, content: &[u8]| write_file(&folder.join(name), content);
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    match setup.what {
        What::Film => {
            write("index.html", FILM.as_bytes())?;
            take(player_file(player)?, &folder.join(PLAYER))?;
            let clip = match clip {
                Some(clip) if clip.join(MANIFEST).is_file() => clip.to_owned(),
                Some(clip) => {
                    return Err(Exit::input(format!("--clip: there is no {MANIFEST} in {}", clip.display())));
                }
                None => made(setup.duration)?,
            };
            let name = folder.join("clip");
            fs::create_dir_all(&name).map_err(|error| unwritten(&name, &error))?;
            for file in fs::read_dir(&clip).map_err(Exit::failed)?.flatten() {
                take(&file.path(), &name.join(file.file_name()))?;
            }
        }
        What::Page => {
            let pictures =
                (0..PICTURES).map(|index| format!("<img src=\"{index}.svg\" width=\"8\" height=\"8\">"));
            write("index.html", PAGE.replace("PICTURES", &pictures.collect::<String>()).as_bytes())?;
            for index in 0..PICTURES {
                write(&format!("{index}.svg"), &picture(index))?;
            }
        }
        What::Frames(_) => write("index.html", FRAMES.as_bytes())?,
    }
    folder.canonicalize().map_err(Exit::failed)
}

/// The file that plays the video.
fn player_file(named: Option<&Path>) -> Result<&Path, Exit> {
    let problem = match named {
        Some(file) if file.is_file() => return Ok(file),
        Some(file) => format!("there is no file {}", file.display()),
        None => "a video needs one".into(),
    };
    Err(Exit::input(format!(
        "--player: {problem}: name {PLAYER} of dash.js 5; `npm pack dashjs@5.2.1 && tar xzf dashjs-5.2.1.tgz` gets it, as \
         package/dist/modern/umd/{PLAYER}"
    )))
}

/// A square, and blanks up to its size.
fn picture(index: u32) -> Vec<u8> {
    let mut picture = b"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"8\" height=\"8\"/>".to_vec();
    picture.resize(SMALLEST_PICTURE + STEP * index as usize, b' ');
    picture
}

/// Links the file, or copies it where it is on another disk.
fn take(from: &Path, to: &Path) -> Result<(), Exit> {
    let is_there = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
    match fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(error) if is_there(&error) => Ok(()),
        Err(_) => {
            let unreadable = |error| Exit::input(format!("cannot read {}: {error}", from.display()));
            let mut file = fs::File::open(from).map_err(unreadable)?;
            let copied =
                WholeFile::kept(to).and_then(|copy| copy.fill(|out| io::copy(&mut file, out).map(drop)));
            copied.map_err(|error| unwritten(to, &error))
        }
    }
}

/// A film of noise that is at least this long, kept for other runs.
fn made(duration: Span) -> Result<PathBuf, Exit> {
    let seconds = duration.as_secs_f64().ceil() as u64 + SPARE_S;
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let folder = cache.unwrap_or_else(env::temp_dir).join(format!("cellcc/film-{seconds}s"));
    if folder.join(MANIFEST).is_file() {
        return Ok(folder);
    }
    tell(&format!("making a film of {seconds} s in {}, once", folder.display()));
    fs::create_dir_all(&folder).map_err(|error| unwritten(&folder, &error))?;
    let unfinished = folder.join("unfinished.mpd");
    let status = ffmpeg(seconds).arg(&unfinished).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => {
            return Err(Exit::failed(format!(
                "ffmpeg could not make a film ({status}); name one with --clip"
            )));
        }
        Err(_) => {
            return Err(Exit::input(
                "there is no ffmpeg to make a film; on Debian: apt-get install ffmpeg; or name a film with --clip",
            ));
        }
    }
    fs::rename(&unfinished, folder.join(MANIFEST)).map_err(|error| unwritten(&unfinished, &error))?;
    Ok(folder)
}

/// The command without its last word, the manifest's name. Noise makes each segment as large as its rate says.
fn ffmpeg(seconds: u64) -> Command {
    let mut command = Command::new("ffmpeg");
    command.stdin(Stdio::null()).args(["-loglevel", "error", "-y", "-f", "lavfi", "-i"]);
    command.arg(format!("testsrc2=size=640x360:rate=25:duration={seconds},noise=alls=40:allf=t"));
    for (index, rate) in RATES.iter().enumerate() {
        command.args(["-map", "0:v"]);
        for (option, value) in [("b", rate), ("maxrate", rate), ("bufsize", rate)] {
            command.args([format!("-{option}:v:{index}"), format!("{value}k")]);
        }
    }
    // A key frame every two seconds, where segments begin.
    command.args([
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-pix_fmt",
        "yuv420p",
        "-g",
        "50",
        "-keyint_min",
        "50",
    ]);
    command.args(["-sc_threshold", "0", "-f", "dash", "-seg_duration", "2", "-use_timeline", "0"]);
    command.args(["-adaptation_sets", "id=0,streams=v"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(what: What) -> Setup {
        Setup { down: "lte-drive".into(), path: Vec::new(), duration: Span::ZERO, what }
    }

    #[test]
    fn a_page_has_a_hundred_pictures_of_two_megabytes() {
        let folder = tempfile::tempdir().unwrap();
        let setup = setup(What::Page);
        make(folder.path(), &setup, None, None).map_err(|_| ()).unwrap();
        let index = fs::read_to_string(folder.path().join("index.html")).unwrap();
        let pictures: Vec<u64> = (0..PICTURES)
            .map(|picture| {
                assert!(index.contains(&format!("\"{picture}.svg\"")));
                fs::metadata(folder.path().join(format!("{picture}.svg"))).unwrap().len()
            })
            .collect();
        assert_eq!((pictures[0], pictures[99]), (1000, 40_600));
        assert_eq!(pictures.iter().sum::<u64>(), 2_080_000);
    }

    #[test]
    fn a_film_without_its_player_or_manifest_is_refused_with_the_way_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let setup = setup(What::Film);
        let error = make(folder.path(), &setup, None, None).unwrap_err();
        assert!(error.text().contains("npm pack dashjs"), "{}", error.text());
        let player = folder.path().join("player.js");
        let error = make(folder.path(), &setup, None, Some(&player)).unwrap_err();
        assert!(
            error.text().contains("there is no file") && error.text().contains("npm pack"),
            "{}",
            error.text()
        );
        fs::write(&player, "").unwrap();
        let error = make(folder.path(), &setup, Some(folder.path()), Some(&player)).unwrap_err();
        assert!(error.text().contains("there is no manifest.mpd in"), "{}", error.text());
    }
}

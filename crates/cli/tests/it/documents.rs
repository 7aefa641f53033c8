//! Names in the documents exist.

use crate::common::cellcc;
use cellcc_claims::page::Page;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The files with one of these endings below a folder, in order.
fn files(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("a folder of the repository")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.ends_with("target") {
            files(&path, endings, found);
        } else if endings.iter().any(|ending| path.extension().is_some_and(|found| found == *ending)) {
            found.push(path);
        }
    }
}

/// The targets of a document's links, as paths from its folder; addresses and places within it are left out.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let named = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
    named.filter(|link| !link.is_empty() && !link.contains("://") && !link.contains('`'))
}

/// The documents that speak of the present, with their texts. The CHANGELOG speaks of the past.
fn documents() -> Vec<(PathBuf, String)> {
    let root = Path::new(ROOT);
    let mut paths: Vec<_> = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "ARTIFACT.md"]
        .into_iter()
        .map(|name| root.join(name))
        .collect();
    files(&root.join("docs"), &["md"], &mut paths);
    files(&root.join("scenarios"), &["md"], &mut paths);
    let texts = paths.iter().map(|path| fs::read_to_string(path).expect("a document")).collect::<Vec<_>>();
    paths.into_iter().zip(texts).collect()
}

/// The code of a document: fenced blocks, one command per line, and text in backticks.
fn code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, part) in text.split("```").enumerate() {
        if number % 2 == 1 {
            found.extend(part.replace("\\\n", " ").lines().map(str::to_owned));
        } else {
            found.extend(part.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")));
        }
    }
    found
}

/// `cellcc reproduce --docs` reads all of them before it runs anything.
#[test]
fn every_check_of_a_table_has_its_table_and_words_that_are_known() {
    for (path, text) in documents() {
        let page = Page::read(&path.display().to_string(), &text).unwrap();
        for check in &page.checks {
            page.cells(check, &check.command).unwrap();
        }
    }
}

#[test]
fn every_file_that_a_document_names_exists() {
    let root = Path::new(ROOT);
    let mut missing = Vec::new();
    let mut checked = 0;
    for (document, text) in documents() {
        let folder = document.parent().expect("a document is in a folder");
        let rooms = ["crates/", "docs/", "scenarios/", "tools/", "python/", "examples/", "fuzz/"];
        let named = code(&text).into_iter().flat_map(|code| {
            code.split_whitespace()
                .map(|word| word.trim_matches(['\'', '"', ',', ';', ')']).to_owned())
                .collect::<Vec<_>>()
        });
        let named = named.filter(|word| {
            let is_path = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
            rooms.iter().any(|room| word.starts_with(room))
                && word.chars().all(is_path)
                && !word.contains("NAME")
        });
        for path in links(&text).map(|link| folder.join(link)).chain(named.map(|word| root.join(word))) {
            checked += 1;
            if !path.exists() {
                missing.push(format!("{} names {}", document.display(), path.display()));
            }
        }
    }
    assert!(checked > 300, "{checked} names of files were found");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The documentation site takes its chapters from these links.
#[test]
fn every_page_of_the_documentation_is_reached_from_its_index() {
    let docs = fs::canonicalize(Path::new(ROOT).join("docs")).expect("the documentation");
    let mut reached = vec![docs.join("README.md")];
    let mut next = 0;
    while next < reached.len() {
        let page = reached[next].clone();
        next += 1;
        let text = fs::read_to_string(&page).expect("a page");
        let folder = page.parent().expect("a page is in a folder");
        for link in links(&text).filter(|link| link.ends_with(".md")) {
            let Ok(named) = fs::canonicalize(folder.join(link)) else { continue };
            if named.starts_with(&docs) && !reached.contains(&named) {
                reached.push(named);
            }
        }
    }
    let mut pages = Vec::new();
    files(&docs, &["md"], &mut pages);
    let alone: Vec<_> = pages.iter().filter(|page| !reached.contains(page)).collect();
    assert!(pages.len() > 100 && alone.is_empty(), "no page leads to {alone:?}");
}

/// The helps of cellcc's commands, each printed once.
struct Helps {
    folder: tempfile::TempDir,
    known: HashMap<Vec<String>, Option<String>>,
}

/// A build without the feature `kernel` has no help of these.
const OF_THE_KERNEL: [&[&str]; 2] = [&["tcp"], &["assist", "join"]];

impl Helps {
    /// The help of a command; none where cellcc has no such command.
    fn of(&mut self, command: &[String]) -> Option<&str> {
        let folder = self.folder.path();
        let ask = || {
            let output = cellcc(folder).args(command).arg("--help").output().expect("cellcc runs");
            output.status.success().then(|| String::from_utf8(output.stdout).expect("help is text"))
        };
        self.known.entry(command.to_vec()).or_insert_with(ask).as_deref()
    }

    /// The fault of a call with these words after `cellcc`.
    fn fault(&mut self, words: &[&str]) -> Option<String> {
        let mut command = Vec::new();
        for word in words
            .iter()
            .take_while(|word| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'))
        {
            let longer = [command.as_slice(), &[(*word).to_owned()]].concat();
            if word.starts_with('-') || self.of(&longer).is_none() {
                break;
            }
            command = longer;
        }
        let help = self.of(&command).expect("cellcc has a help").to_owned();
        if command.is_empty()
            && words.first().is_some_and(|word| word.starts_with(|first: char| first.is_ascii_lowercase()))
        {
            return Some(format!("no command {}", words[0]));
        }
        let flags = words.iter().take_while(|word| **word != "--").filter(|word| word.starts_with("--"));
        let name = |flag: &&str| flag.split(['=', '[']).next().unwrap_or_default().to_owned();
        let is_there = |flag: &String| {
            help.split(|letter: char| letter.is_whitespace() || "[],.;`=".contains(letter))
                .any(|word| word == flag)
        };
        let unknown: Vec<_> = flags.map(name).filter(|flag| !is_there(flag)).collect();
        (!unknown.is_empty()).then(|| format!("cellcc {} has no {}", command.join(" "), unknown.join(" ")))
    }
}

/// The words of each call of cellcc in a line of code: up to the end of a shell command.
fn calls(line: &str) -> Vec<Vec<&str>> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    let mut inside = false;
    let mut before = "";
    for word in line.split_whitespace() {
        let bare = word.trim_start_matches(['(', '\'', '"']);
        if word.starts_with('#') {
            break;
        }
        if bare == "cellcc" && !["-p", "--bin", "-m", "--name", "python"].contains(&before) {
            found.push(Vec::new());
            inside = true;
        } else if ["|", "||", "&&", ";", "#", ">", "&"].contains(&word) {
            inside = false;
        } else if inside && before != "cellcc" && word.starts_with("mm-") {
            found.push(vec![word]);
        } else if inside {
            found.last_mut().expect("a call began").push(word.trim_end_matches([';', ')', '\'', '"', ',']));
            inside = !word.ends_with([';', ')']);
        }
        before = word;
    }
    found
}

#[test]
fn every_command_and_every_flag_that_a_document_names_exists() {
    let mut helps = Helps { folder: tempfile::tempdir().expect("a folder"), known: HashMap::new() };
    let fault = helps.fault(&["compare", "--schemes", "cubic", "--no-such-flag"]);
    assert_eq!(fault.as_deref(), Some("cellcc compare has no --no-such-flag"));
    assert_eq!(helps.fault(&["compere"]).as_deref(), Some("no command compere"));
    let mut faults = Vec::new();
    let mut checked = 0;
    for (document, text) in documents() {
        for line in code(&text) {
            let is_left_out = |call: &Vec<&str>| {
                !cfg!(feature = "kernel") && OF_THE_KERNEL.iter().any(|command| call.starts_with(command))
            };
            for call in calls(&line).into_iter().filter(|call| !is_left_out(call)) {
                checked += 1;
                faults.extend(
                    helps.fault(&call).map(|fault| format!("{}: {fault}: {line}", document.display())),
                );
            }
        }
    }
    assert!(checked > 150, "{checked} calls of cellcc were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A page without its generated parts: tables between two marks, and the paragraph or list below the others.
fn hand_written(mut page: String) -> String {
    const GENERATED: [(&str, &str); 3] = [
        ("<!-- the table of", "<!-- the table ends -->"),
        ("<!-- held against:", "\n\n"),
        ("<!-- reasons -->", "\n\n"),
    ];
    for (begin, end) in GENERATED {
        while let Some((before, part)) = page.split_once(begin) {
            page = format!("{before}\n{}", part.split_once(end).map_or("", |(_, after)| after));
        }
    }
    page
}

/// The words of a page that a reader sees: without comments and the targets of links.
fn words(page: &str) -> usize {
    let visible = page.split("<!--").enumerate().map(|(at, part)| match part.split_once("-->") {
        Some((_, after)) if at > 0 => after,
        _ => part,
    });
    let visible: String = visible.collect();
    let links = visible.split("](").enumerate().map(|(at, part)| match part.split_once(')') {
        Some((_, after)) if at > 0 => after,
        _ => part,
    });
    let text = links.collect::<Vec<_>>().join("]");
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// The titles and texts of the reasons in a file of claims.
fn reasons(path: &Path) -> String {
    let file: toml::Table = fs::read_to_string(path).expect("claims").parse().expect("a file of claims");
    let reasons = file.get("reason").and_then(toml::Value::as_array).into_iter().flatten();
    let texts = reasons
        .flat_map(|reason| ["title", "text"].map(|key| reason[key].as_str().expect("a text").to_owned()));
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_documentation_stays_within_the_words_that_contributing_allows() {
    assert_eq!(words("Two [words](a/b.md) <!-- not\nthese --> | --- | and a third"), 5);
    assert_eq!(words(&hand_written("One <!-- the table of x -->a b<!-- the table ends --> two".into())), 2);
    let docs = Path::new(ROOT).join("docs");
    let (mut all, mut long) = (0, Vec::new());
    let (mut pages, mut claims) = (Vec::new(), Vec::new());
    files(&docs, &["md"], &mut pages);
    for path in pages {
        let name = path.strip_prefix(&docs).expect("a page");
        let is_generated = ["conditions.md", "fidelity/claims.md"].iter().any(|page| name == Path::new(page));
        let is_apart = name.starts_with("decisions") || name == Path::new("algorithms/tide-spec.md");
        if is_generated || is_apart || name.starts_with("evidence") {
            continue;
        }
        let page = fs::read_to_string(&path).expect("a page");
        if name.starts_with("fidelity") && words(&page) > 1000 {
            long.push(format!("{}: {}", name.display(), words(&page)));
        }
        all += words(&hand_written(page));
    }
    files(&Path::new(ROOT).join("claims"), &["toml"], &mut claims);
    all += claims.iter().map(|path| words(&reasons(path))).sum::<usize>();
    let front = words(&fs::read_to_string(Path::new(ROOT).join("README.md")).expect("README"));
    assert!((30_000..=35_000).contains(&(all + front)), "{} words", all + front);
    assert!(long.is_empty(), "verdicts above 1,000 words: {long:?}");
    assert!(front <= 900, "README has {front} words");
}

/// The page once left out `cellcc-schemes`.
#[test]
fn the_server_that_the_page_on_the_library_shows_builds_with_the_dependencies_there() {
    let read = |path: &str| fs::read_to_string(Path::new(ROOT).join(path)).expect("a file of the repository");
    let table = |text: &str| text.parse::<toml::Table>().expect("a Cargo.toml");
    let names = |manifest: &toml::Table, of: &str| -> BTreeSet<String> {
        manifest[of].as_table().expect("a table").keys().cloned().collect()
    };
    let page = read("docs/how-to/library.md");
    let shown = page.split("```").find(|part| part.starts_with("toml\n[package]")).expect("its Cargo.toml");
    let named = names(&table(shown.trim_start_matches("toml")), "dependencies");
    let here = table(&read("crates/quic/Cargo.toml"));
    let known = &names(&here, "dependencies") | &names(&here, "dev-dependencies");
    let server = read("crates/quic/examples/server.rs");
    let is_used = |name: &String| server.contains(&format!("{}::", name.replace('-', "_")));
    let used = known.into_iter().chain(["cellcc-quic".to_owned()]).filter(is_used).collect();
    assert_eq!(named, used);
}

/// pkg-config was named nowhere, and libbpf's build ends in a panic without it.
#[test]
fn the_packages_that_libbpf_needs_are_named_as_setup_installs_them() {
    let root = Path::new(ROOT);
    let setup = fs::read_to_string(root.join("tools/setup")).expect("the script");
    let list =
        setup.split("need_libbpf() {").nth(1).and_then(|rest| rest.split("\n}").next()).expect("a list");
    let words = list.split([' ', ';', '\n']).filter(|word| !word.contains(['$', '"']));
    // Building from sources needs make anyway.
    let packages: Vec<_> =
        words.filter_map(|word| Some(word.split_once(':')?.1)).filter(|name| *name != "make").collect();
    assert_eq!(packages, ["pkg-config", "libelf-dev", "zlib1g-dev"]);
    let message = root.join("crates/cli/src/without_kernel.rs");
    let message = (message.clone(), fs::read_to_string(message).expect("the message"));
    let mut checked = 0;
    for (path, text) in documents().into_iter().chain([message]) {
        for line in code(&text).iter().filter(|line| line.starts_with("apt-get") && line.contains("libelf")) {
            checked += 1;
            let missing: Vec<_> = packages.iter().filter(|package| !line.contains(**package)).collect();
            assert!(missing.is_empty(), "{}: {line}: without {missing:?}", path.display());
        }
    }
    assert!(checked > 2, "{checked} lines name them");
}

#[test]
fn every_target_of_make_that_a_document_names_exists() {
    let makefile = fs::read_to_string(Path::new(ROOT).join("Makefile")).expect("the Makefile");
    let is_target = |name: &str| makefile.lines().any(|line| line.starts_with(&format!("{name}:")));
    let mut missing = Vec::new();
    let mut checked = 0;
    for (document, text) in documents() {
        for line in code(&text) {
            if let Some(target) = line.strip_prefix("make ").and_then(|rest| rest.split_whitespace().next()) {
                checked += 1;
                if !is_target(target) {
                    missing.push(format!("{}: {line}", document.display()));
                }
            }
        }
    }
    assert!(checked > 10, "{checked} targets were found");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_test_that_the_page_on_security_names_exists() {
    let root = Path::new(ROOT);
    let page = fs::read_to_string(root.join("docs/security.md")).expect("the page");
    let mut sources = Vec::new();
    for folder in ["crates", "python/tests"] {
        files(&root.join(folder), &["rs", "py"], &mut sources);
    }
    let texts: Vec<_> = sources.iter().map(|path| fs::read_to_string(path).expect("a source")).collect();
    let is_name = |word: &&str| {
        word.matches('_').count() >= 3
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let named: Vec<_> = page.split('`').filter(is_name).collect();
    assert!(named.len() > 60, "{} tests are named", named.len());
    let is_there = |name: &&str| {
        let [of_rust, of_python] = [format!("fn {name}("), format!("def {name}(")];
        texts.iter().any(|text| text.contains(&of_rust) || text.contains(&of_python))
    };
    let missing: Vec<_> = named.into_iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_file_that_the_table_of_crates_names_exists() {
    let root = Path::new(ROOT);
    let page = fs::read_to_string(root.join("docs/architecture.md")).expect("the page");
    let table = page.split("| crate | to find | look in |").nth(1).expect("the table of crates");
    let (mut room, mut missing, mut checked) = (PathBuf::new(), Vec::new(), 0);
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [name, _, look_in] = cells[..] else { panic!("a row of three cells: {row}") };
        if let Some(name) = name.split('`').nth(1) {
            room = if name == "python/" { root.join(name) } else { root.join("crates").join(name) };
        }
        for file in look_in.split('`').skip(1).step_by(2).filter(|file| !file.contains("NAME")) {
            checked += 1;
            if !room.join("src").join(file).exists() && !room.join(file).exists() {
                missing.push(format!("{}: {file}", room.display()));
            }
        }
    }
    assert!(checked > 60, "{checked} files are named");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

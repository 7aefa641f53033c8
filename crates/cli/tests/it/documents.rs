//! What the documents name is there.

use std::fs;
use std::path::{Path, PathBuf};

/// The texts of all files with one of these endings below a folder.
fn sources(folder: &Path, endings: &[&str], texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository").flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "target" {
            sources(&path, endings, texts);
        } else if endings.iter().any(|ending| path.extension().is_some_and(|found| found == *ending)) {
            texts.push(fs::read_to_string(&path).expect("a source"));
        }
    }
}

#[test]
fn every_test_that_the_page_on_security_names_exists() {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let page = fs::read_to_string(root.join("docs/security.md")).expect("the page");
    let mut texts = Vec::new();
    for folder in ["crates", "python/tests"] {
        sources(&root.join(folder), &["rs", "py"], &mut texts);
    }
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

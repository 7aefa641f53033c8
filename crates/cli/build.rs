//! Stores facts on the build for `cellcc --version`.

use std::process::Command;

fn main() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let commit = output("git", &["rev-parse", "--short=10", "HEAD"]).map_or_else(
        // A source archive has no history.
        || "no commit".into(),
        |commit| match output("git", &["status", "--porcelain", "--untracked-files=no"]) {
            Some(changes) if !changes.is_empty() => format!("commit {commit} with changes"),
            _ => format!("commit {commit}"),
        },
    );
    let rustc = output(&variable("RUSTC"), &["--version"]).unwrap_or_else(|| "rustc".into());
    let compiler: Vec<&str> = rustc.split(' ').take(2).collect();
    println!(
        "cargo::rustc-env=CELLCC_BUILD={} ({commit}, {}, {}, {})",
        cellcc_version::VERSION,
        variable("PROFILE"),
        variable("TARGET"),
        compiler.join(" ")
    );
    // Every commit appends to this log; without it, only a change of this file triggers a build.
    match output("git", &["rev-parse", "--git-path", "logs/HEAD"]) {
        Some(log) => println!("cargo::rerun-if-changed={log}"),
        None => println!("cargo::rerun-if-changed=build.rs"),
    }
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().into())
}

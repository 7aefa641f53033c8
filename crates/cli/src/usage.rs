//! Error messages for a command line that cannot be read.

use crate::Cli;
use crate::exit::{Exit, tell};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};
use std::ffi::OsString;
use std::process::ExitCode;

/// Says what is wrong with the arguments, and gives the status; prints help and version, which are no errors.
pub(crate) fn report(error: &Error, arguments: &[OsString]) -> ExitCode {
    let help = [
        ErrorKind::DisplayHelp,
        ErrorKind::DisplayVersion,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ];
    if help.contains(&error.kind()) {
        error.exit();
    }
    if error.kind() == ErrorKind::InvalidUtf8
        && let Some(argument) = arguments.iter().find(|argument| argument.to_str().is_none())
    {
        return Exit::input(format!("the argument {argument:?} is not UTF-8; rename the file")).report();
    }
    let invalid = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if error.kind() == ErrorKind::UnknownArgument => Some(word),
        _ => None,
    };
    if let Some(meant) = invalid.and_then(|word| list(word, arguments)) {
        return Exit::input(meant).report();
    }
    tell(error.render().to_string().trim_end());
    ExitCode::from(2)
}

/// A hint for a list written with spaces in place of commas: `--schemes cubic bbr`.
fn list(word: &str, arguments: &[OsString]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let at = words.iter().position(|one| *one == word)?;
    let flag = words[..at].iter().rposition(|one| one.starts_with('-'))?;
    let root = Cli::command();
    let subcommands = std::iter::successors(Some((&root, 1)), |(command, at)| {
        Some((command.find_subcommand(words.get(*at)?)?, at + 1))
    });
    let (command, _) = subcommands.last()?;
    let name = words[flag].trim_start_matches('-');
    let is_named = |arg: &&clap::Arg| arg.get_long() == Some(name) || name.chars().eq(arg.get_short());
    let arg = command.get_arguments().find(is_named)?;
    let takes_list = arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "LIST"));
    let parts: Vec<&str> =
        words[flag + 1..].iter().copied().take_while(|one| !one.starts_with('-')).collect();
    let (flag, list) = (words[flag], parts.join(","));
    takes_list.then(|| format!("{flag} takes a list with commas between its parts: {flag} {list}"))
}

//! The flags of conditions, from their table.

use cellcc_experiment::conditions::{Command, Condition, SECTIONS, rows};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};
use toml::{Table, Value};

/// The given flags of `compare`, or of `shell`, by their keys in a Scenario file.
#[derive(Debug, Default)]
pub(crate) struct Flags<const SHELL: bool = false>(pub(crate) Table);

impl<const SHELL: bool> Flags<SHELL> {
    const COMMAND: Command = if SHELL { Command::Shell } else { Command::Compare };
}

impl Flags<true> {
    /// The flags again, for `cellcc shell`.
    pub(crate) fn words(&self) -> Vec<String> {
        let given = rows().filter_map(|row| Some((row.flag(Self::COMMAND)?, self.0.get(row.key)?)));
        given.flat_map(|(flag, value)| words(flag, value)).collect()
    }
}

fn words(flag: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Boolean(_) => vec![format!("--{flag}")],
        Value::Array(all) => all.iter().flat_map(|one| words(flag, one)).collect(),
        Value::String(text) => vec![format!("--{flag}={text}")],
        other => vec![format!("--{flag}={other}")],
    }
}

impl<const SHELL: bool> clap::Args for Flags<SHELL> {
    fn augment_args(command: clap::Command) -> clap::Command {
        let args = SECTIONS.iter().flat_map(|section| {
            let args =
                section.rows.iter().filter_map(|row| Some(arg(row, row.flag(Self::COMMAND)?, Self::COMMAND)));
            args.map(|arg| arg.help_heading(section.heading))
        });
        command.args(args)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

fn arg(row: &'static Condition, flag: &'static str, command: Command) -> Arg {
    let brief = row.short_help(command);
    let arg = Arg::new(row.key).long(flag).short(row.short).hide_short_help(brief.is_none());
    let long = row.help(command);
    let arg = arg.help(brief.unwrap_or_else(|| long.clone())).long_help(long);
    let arg = arg.value_parser(|text: &str| row.value(text));
    match row.takes.name {
        "" => arg.action(ArgAction::SetTrue),
        name if row.takes.several => arg.value_name(name).num_args(1..).action(ArgAction::Append),
        name => arg.value_name(name),
    }
}

impl<const SHELL: bool> clap::FromArgMatches for Flags<SHELL> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_given = |row: &&Condition| {
            row.flag(Self::COMMAND).is_some()
                && matches.value_source(row.key) == Some(ValueSource::CommandLine)
        };
        let values = |row: &Condition| {
            let values = matches.get_many::<Value>(row.key).into_iter().flatten().cloned();
            Some((row.key.to_owned(), values.reduce(joined)?))
        };
        Ok(Self(rows().filter(is_given).filter_map(values).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
}

/// The values of a flag that takes several, as one list.
fn joined(all: Value, more: Value) -> Value {
    match (all, more) {
        (Value::Array(mut all), Value::Array(more)) => {
            all.extend(more);
            Value::Array(all)
        }
        (_, last) => last,
    }
}

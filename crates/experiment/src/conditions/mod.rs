//! The conditions of a run: one table, which the flags of `compare` and `shell`, Scenario files, Python, error texts and
//! docs/conditions.md read.

mod dotted;
mod table;
mod takes;
#[cfg(test)]
mod tests;

pub use dotted::get_mut;
pub(crate) use dotted::merge;
pub use table::SECTIONS;
pub use takes::Takes;

use crate::{Path, PlanFile};
use cellcc_link::{Delay, Queue};
use cellcc_units::Span;
use std::sync::LazyLock;
use toml::{Table, Value};

/// One condition: its names, its values, and its meaning.
#[derive(Debug, Clone, Copy)]
pub struct Condition {
    /// The dotted key in a Scenario file.
    pub key: &'static str,
    flag: Option<&'static str>,
    shell: Option<&'static str>,
    /// The short flag of `cellcc compare`.
    pub short: Option<char>,
    /// The values: their name, range and form.
    pub takes: Takes,
    meaning: &'static str,
    brief: &'static str,
}

/// Conditions under one heading.
#[derive(Debug)]
pub struct Section {
    /// The heading; none: that of all other flags.
    pub heading: Option<&'static str>,
    /// True for conditions of a run, which `[vary]` takes; false for the axes of the grid of runs.
    pub varies: bool,
    /// The conditions of the section.
    pub rows: &'static [Condition],
}

/// The command whose flags are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `cellcc compare`.
    Compare,
    /// `cellcc shell`: the path only. Other than in a run, both ends of a range count: no delay, and everything lost.
    Shell,
}

impl Command {
    /// The conditions that hold where neither a flag nor a Scenario says otherwise.
    pub fn defaults(self) -> PlanFile {
        let mut file = PlanFile::default();
        if self == Self::Shell {
            file.path.rtt = Span::ZERO;
            file.path.reverse.queue = file.path.queue;
        }
        file
    }
}

/// The defaults of each command as a Scenario file has them.
static DEFAULTS: LazyLock<[Table; 2]> = LazyLock::new(|| {
    [Command::Compare, Command::Shell]
        .map(|command| Table::try_from(command.defaults()).expect("a plan is a table of TOML"))
});

/// The start of a default in help, in clap's form.
const DEFAULT: &str = "[default: ";

/// Every condition.
pub fn rows() -> impl Iterator<Item = &'static Condition> {
    SECTIONS.iter().flat_map(|section| section.rows)
}

/// True for a key of the axes of the grid of runs.
pub(crate) fn of_the_grid(key: &str) -> bool {
    SECTIONS
        .iter()
        .filter(|section| !section.varies)
        .flat_map(|section| section.rows)
        .any(|row| row.key == key)
}

/// Checks every value that has a range.
///
/// # Errors
/// The value, its flag, its key, and the range.
pub fn check(file: &PlanFile, command: Command) -> Result<(), String> {
    let mut table = Table::try_from(file).map_err(|error| error.to_string())?;
    for row in rows().filter(|row| command == Command::Compare || row.shell.is_some()) {
        match get_mut(&mut table, row.key) {
            Some(Value::String(text)) => row.check(text, command)?,
            Some(Value::Integer(count)) => row.check(&count.to_string(), command)?,
            _ => {}
        }
    }
    Ok(())
}

/// Checks the delays over time of a path whose files have been read: beyond a minute they are a slip of the keyboard.
///
/// # Errors
/// The delay, its flag, its key, and the range.
pub fn check_extra_delay(path: &Path) -> Result<(), String> {
    let extra =
        [("path.extra_delay", &path.extra_delay), ("path.reverse.extra_delay", &path.reverse.extra_delay)];
    extra.into_iter().try_for_each(|(key, text)| {
        let longest = Delay::with_extra(Span::ZERO, text).map_err(|error| error.to_string())?.max();
        let is_within = takes::is_within::<Span>(takes::DELAYS.range, &longest.to_string());
        let row = rows().find(|row| row.key == key && !is_within);
        row.map_or(Ok(()), |row| Err(row.outside(&longest.to_string(), Command::Compare)))
    })
}

impl PlanFile {
    /// The plan with these values, by their dotted keys, in place of its own. These keys are no longer varied.
    ///
    /// # Errors
    /// A value that its key does not take.
    pub fn with(&self, given: &Table) -> Result<Self, String> {
        let mut file = self.clone();
        given.keys().for_each(|key| file.vary.remove(key));
        let base = Table::try_from(&file).map_err(|error| error.to_string())?;
        let over = |mut table: Table, (key, value): (&String, &Value)| {
            dotted::set(&mut table, key, value.clone()).map(|_| table)
        };
        let whole = given.iter().try_fold(base.clone(), over)?;
        whole.try_into().map_err(|error: toml::de::Error| {
            // The message of a table does not say which key it is about: the first that is refused by itself.
            let is_refused = |entry: &(&String, &Value)| {
                over(base.clone(), *entry).is_ok_and(|table| table.try_into::<Self>().is_err())
            };
            let key = given.iter().find(is_refused).and_then(|(key, _)| key.rsplit('.').next());
            format!("{}: {}", key.unwrap_or_default(), error.message().replace('\n', ", "))
        })
    }
}

/// A condition that only Scenario files have.
const fn key(key: &'static str, takes: Takes) -> Condition {
    Condition { key, flag: None, shell: None, short: None, takes, meaning: "", brief: "" }
}

/// One with a flag of `compare`.
const fn flag(flag: &'static str, key: &'static str, takes: Takes) -> Condition {
    Condition { flag: Some(flag), ..self::key(key, takes) }
}

/// One with a flag of `shell`.
const fn shell(flag: &'static str, key: &'static str, takes: Takes) -> Condition {
    Condition { shell: Some(flag), ..self::key(key, takes) }
}

/// One with the same flag of both.
const fn both(flag: &'static str, key: &'static str, takes: Takes) -> Condition {
    Condition { shell: Some(flag), ..self::flag(flag, key, takes) }
}

impl Condition {
    const fn shell(self, flag: &'static str) -> Self {
        Self { shell: Some(flag), ..self }
    }

    const fn short(self, letter: char) -> Self {
        Self { short: Some(letter), ..self }
    }

    const fn means(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    /// A summary of at most 60 letters, which puts the flag into the short help.
    const fn brief(self, brief: &'static str) -> Self {
        Self { brief, ..self }
    }

    /// The flag, without dashes.
    pub const fn flag(&self, command: Command) -> Option<&'static str> {
        match command {
            Command::Compare => self.flag,
            Command::Shell => self.shell,
        }
    }

    /// The meaning and the default, for the long help of `command`.
    pub fn help(&self, command: Command) -> String {
        self.with_default(self.explained(), command)
    }

    /// The line in the short help; `None` for flags that only the long help shows.
    pub fn short_help(&self, command: Command) -> Option<String> {
        (!self.brief.is_empty()).then(|| self.with_default(self.brief.into(), command))
    }

    fn with_default(&self, meaning: String, command: Command) -> String {
        match self.default(command).filter(|_| !meaning.contains(DEFAULT)) {
            Some(default) => format!("{meaning} {DEFAULT}{default}]"),
            None => meaning,
        }
    }

    /// The meaning, with an example of the range unless the meaning has one, and with each discipline for `{QUEUES}`.
    fn explained(&self) -> String {
        let meaning = self.meaning.replace("{QUEUES}", &Queue::forms().join(", "));
        let example = self.takes.range.split_once(", such as ").map_or("", |(_, example)| example);
        let is_default = self.states_default() || self.default(Command::Compare).as_deref() == Some(example);
        match example.contains(',') || example.is_empty() || is_default {
            true => meaning,
            false => format!("{meaning} (e.g. {example})"),
        }
    }

    /// True where the meaning says what happens without it.
    fn states_default(&self) -> bool {
        self.meaning.contains(DEFAULT)
    }

    /// The default value as a person would write it; `None` where it is zero, off or nothing.
    fn default(&self, command: Command) -> Option<String> {
        if (command, self.key) == (Command::Shell, "path.reverse.queue") {
            return Some("that of --queue".into());
        }
        let mut keys = self.key.split('.');
        let first = DEFAULTS[command as usize].get(keys.next()?)?;
        let text = match keys.try_fold(first, |value, key| value.get(key))? {
            Value::String(text) => self.takes.natural(text).unwrap_or_else(|| text.clone()),
            Value::Array(_) => return None,
            other => other.to_string(),
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// The flag's argument in the form of a Scenario file.
    ///
    /// # Errors
    /// The mistake in the text, and the right form. Ranges are left to [`check`], which also sees Scenario files.
    pub fn value(&self, text: &str) -> Result<Value, String> {
        (self.takes.read)(text).map_err(|problem| {
            let problem = match self.takes.meant(text) {
                Some(meant) => format!("did you mean `{meant}`? {problem}"),
                None => problem,
            };
            // The notation of every discipline would hide a suggestion.
            match problem.split_once(", or one of ") {
                Some((first, _)) if problem.starts_with("did you mean") => first.to_owned(),
                _ => problem,
            }
        })
    }

    /// The range for `command`.
    fn range(&self, command: Command) -> String {
        match command {
            Command::Compare => self.takes.range.into(),
            Command::Shell => {
                self.takes.range.replace("above ", "").replace("up to", "to").replace("below ", "")
            }
        }
    }

    fn check(&self, text: &str, command: Command) -> Result<(), String> {
        let fits = (self.takes.fits)(&self.range(command), text);
        if fits { Ok(()) } else { Err(self.outside(text, command)) }
    }

    fn outside(&self, text: &str, command: Command) -> String {
        let (key, takes) = (self.key, self.range(command));
        match self.flag(command) {
            Some(flag) => format!("--{flag} {text} (in a Scenario: {key}) is out of range; write {takes}"),
            None => format!("{key} = {text} is out of range; write {takes}"),
        }
    }
}

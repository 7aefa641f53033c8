//! Mahimahi's command lines: `mm-delay 10 mm-link UP DOWN --uplink-queue=droptail --uplink-queue-args=packets=100 -- CMD`.
//!
//! Each of Mahimahi's shells is a process with a network of its own. Here the shells of one line become the stages of
//! one path. Names, options and their meanings are those of Mahimahi 0.98; docs/how-to lists the differences.

mod link;
mod loss;
mod queue;
mod words;

use crate::error::EmuError;
use crate::stage::Stage;
use cellcc_link::{Delay, LinkConfig, Source, SpecError};
use cellcc_units::Span;
use std::ffi::OsString;
use std::path::Path;
use words::Words;

/// A parsed line of shells.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    /// The stages of a packet from the command, in this order: the innermost shell first.
    pub up: Vec<Stage>,
    /// The stages of a packet to the command, in this order: the outermost shell first.
    pub down: Vec<Stage>,
    /// The command to run within, with its arguments; empty for the user's shell.
    pub command: Vec<OsString>,
    /// The shells' prefixes of the prompt, outermost first: `[delay 10 ms] [link] `. Mahimahi appends it to
    /// `$MAHIMAHI_SHELL_PREFIX`.
    pub prefix: String,
    /// Notes for the user before it starts, a line each.
    pub notes: Vec<String>,
}

/// The shells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// `mm-delay DELAY`.
    Delay,
    /// `mm-link UP DOWN`.
    Link,
    /// `mm-loss uplink|downlink RATE`.
    Loss,
    /// `mm-onoff uplink|downlink MEAN-ON-TIME MEAN-OFF-TIME`.
    OnOff,
}

impl Shell {
    const ALL: [Self; 4] = [Self::Delay, Self::Link, Self::Loss, Self::OnOff];

    /// The command's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delay => "mm-delay",
            Self::Link => "mm-link",
            Self::Loss => "mm-loss",
            Self::OnOff => "mm-onoff",
        }
    }

    /// The command's syntax.
    pub fn usage(self) -> &'static str {
        match self {
            Self::Delay => "mm-delay MILLISECONDS [COMMAND...]",
            Self::Link => "mm-link UP DOWN [OPTION...] [-- COMMAND...]",
            Self::Loss => "mm-loss uplink|downlink RATE [--seed=NUMBER] [COMMAND...]",
            Self::OnOff => {
                "mm-onoff uplink|downlink MEAN-ON-SECONDS MEAN-OFF-SECONDS [--seed=NUMBER] [COMMAND...]"
            }
        }
    }

    /// The shell that a command names, with or without its folder.
    pub fn of(command: &OsString) -> Option<Self> {
        let name = Path::new(command).file_name()?;
        Self::ALL.into_iter().find(|shell| name == shell.name())
    }
}

/// Reads a line of shells, from the name of the first one to the end of the command. `open` opens a trace by its word on the
/// line; `outside` is the prefix of the shells round this line.
///
/// # Errors [`EmuError::Input`]: the shell, the word, and its expected form.
pub fn parse(
    line: &[OsString],
    outside: &str,
    open: &dyn Fn(&str) -> Result<Source, SpecError>,
) -> Result<Chain, EmuError> {
    let mut chain = Chain::default();
    let mut rest = line;
    while let Some(shell) = rest.first().and_then(Shell::of) {
        let mut words = Words::new(shell, rest);
        match shell {
            Shell::Delay => add_delay(&mut words, &mut chain)?,
            Shell::Link => link::add(&mut words, &mut chain, outside, open)?,
            Shell::Loss => loss::add_loss(&mut words, &mut chain)?,
            Shell::OnOff => loss::add_on_off(&mut words, &mut chain)?,
        }
        rest = words.command();
    }
    if rest.len() == line.len() {
        let names = Shell::ALL.map(Shell::name).join(", ");
        return Err(EmuError::Input(format!("the line begins with none of {names}")));
    }
    chain.command = rest.to_vec();
    each_log_has_its_file(&chain)?;
    Ok(chain)
}

/// A direction, as some shells name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Chain {
    /// A stage within all shells so far.
    fn add(&mut self, direction: Direction, stage: Stage) {
        match direction {
            Direction::Up => self.up.insert(0, stage),
            Direction::Down => self.down.push(stage),
        }
    }

    /// The seed of the next random stage: each stage has another.
    fn next_seed(&self) -> u64 {
        (self.up.len() + self.down.len()) as u64 + 1
    }
}

/// `mm-delay MILLISECONDS`: the same delay in both directions.
fn add_delay(words: &mut Words, chain: &mut Chain) -> Result<(), EmuError> {
    let (delay, shown) = words.next_parsed("the delay", delay)?;
    for direction in [Direction::Up, Direction::Down] {
        let config = LinkConfig { delay: delay.clone(), ..LinkConfig::transparent() };
        chain.add(direction, Stage::link(config, 0));
    }
    chain.prefix += &format!("[delay {shown}] ");
    Ok(())
}

/// The longest delay, that of a round trip in `cellcc shell`.
const MOST_MILLIS: u32 = 60_000;

/// Parses whole milliseconds, as Mahimahi does, or a delay with its unit; returns also its form in the prompt.
fn delay(text: &str) -> Result<(Delay, String), String> {
    if let Ok(millis) = text.parse::<u32>() {
        if millis > MOST_MILLIS {
            return Err(format!("a delay is at most {MOST_MILLIS} ms"));
        }
        return Ok((Delay::constant(Span::from_millis(millis.into())), format!("{millis} ms")));
    }
    let expected =
        "write whole milliseconds, such as 20, or a delay with its unit, such as 2.5ms or 10ms@5s,40ms@5s";
    text.parse().map(|delay| (delay, text.to_owned())).map_err(|_| expected.into())
}

fn each_log_has_its_file(chain: &Chain) -> Result<(), EmuError> {
    let logs = chain.up.iter().chain(&chain.down).filter_map(|stage| stage.log.as_ref());
    let mut paths: Vec<&Path> = logs.map(|log| log.path.as_path()).collect();
    paths.retain(|path| !path.starts_with("/dev"));
    paths.sort_unstable();
    match paths.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => {
            Err(EmuError::Input(format!("two logs go to {}: give each a file of its own", pair[0].display())))
        }
    }
}

#[cfg(test)]
mod tests;

//! `cellcc completions SHELL`.

use crate::exit::{Exit, print};
use clap::CommandFactory;
use clap_complete::Shell;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "cellcc", &mut script);
    print(&String::from_utf8_lossy(&script))
}

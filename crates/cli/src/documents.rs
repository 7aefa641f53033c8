//! Completions for shells, and man pages.

use crate::exit::{Exit, print, write_file};
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc completions bash > ~/.local/share/bash-completion/completions/cellcc")]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

pub(crate) fn completions(args: &Completions) -> Result<(), Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "cellcc", &mut script);
    print(&String::from_utf8_lossy(&script))
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc man --out man")]
pub(crate) struct Man {
    /// Write the pages of all commands into this folder instead of printing the first one.
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn man(args: &Man) -> Result<(), Exit> {
    let command = crate::Cli::command();
    match &args.out {
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .map_err(|error| Exit::input(format!("--out {}: {error}", folder.display())))?;
            let made = tempfile::tempdir().map_err(Exit::failed)?;
            clap_mangen::generate_to(command, made.path()).map_err(Exit::failed)?;
            for page in std::fs::read_dir(&made).map_err(Exit::failed)?.flatten() {
                write_file(
                    &folder.join(page.file_name()),
                    std::fs::read(page.path()).map_err(Exit::failed)?,
                )?;
            }
            Ok(())
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(Exit::failed)?;
            print(&String::from_utf8_lossy(&page))
        }
    }
}

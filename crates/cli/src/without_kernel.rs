//! Replaces the parts that need libbpf in a build without the feature `kernel`, and says how to have them.

use crate::exit::Exit;
use cellcc_control::event_log::StepReader;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The arguments of `cellcc tcp`, `cellcc assist join` and `cellcc replay record`, which nothing reads.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

pub(crate) type Command = Args;

pub(crate) fn run(_: &Args) -> Result<ExitCode, Exit> {
    Err(refusal())
}

/// `cellcc replay` of the kernel's decisions.
pub(crate) fn differs<R>(_: StepReader<R>, _is_json: bool, _: &Path) -> Result<bool, Exit> {
    Err(refusal())
}

fn refusal() -> Exit {
    Exit::input(
        "this cellcc was built without the kernel's TCP: on Debian, as root, `apt-get install pkg-config libelf-dev zlib1g-dev`, then \
         `cargo install --locked --path crates/cli --features kernel`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Tcp {
        #[command(flatten)]
        command: Command,
    }

    #[test]
    fn whatever_is_asked_of_the_kernel_the_answer_is_what_to_install() {
        for words in [&["tcp", "load", "cubic", "--pins", "none"][..], &["tcp", "--help"], &["tcp"]] {
            let Err(Exit::Input(error)) = run(&Tcp::parse_from(words).command) else { panic!("{words:?}") };
            assert!(error.to_string().contains("libelf-dev"), "{error}");
        }
    }
}

//! `cellcc put`: an upload.

use crate::exit::Exit;
use crate::network::advice;
use crate::network::transfer::{self, Asked, Common};
use crate::network::url::Url;
use cellcc_transfer::{Direction, Payload};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc put quic://server:4433 --pin sha256:... --time 30s
  cellcc put quic://server:4433/film.mp4 --pin ... --file film.mp4

Exit status: 0 when complete; 1 when the transfer failed, 2 for bad input, 130 when interrupted.")]
pub(crate) struct Args {
    /// The server, and the path there where a file is sent: quic://HOST:PORT/PATH.
    #[arg(value_name = "URL")]
    url: Url,
    /// Send this file; its path there is the URL's, or its name.
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten, next_help_heading = "What the network tells")]
    advice: advice::Args,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Exit> {
    let Args { url, file, advice, common } = args;
    let payload = match &file {
        None if url.path.is_empty() => common.made.payload()?,
        None => return Err(Exit::input(format!("/{}: which file is to be sent? Give --file", url.path))),
        Some(file) => {
            common.made.refuse_with_file()?;
            let own = file.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = Some(url.path.clone()).filter(|path| !path.is_empty()).or(own);
            let name = name.ok_or_else(|| Exit::input(format!("{} is not a file", file.display())))?;
            Payload::File { name, bytes: None }
        }
    };
    transfer::run(Asked { url, direction: Direction::Put, payload, file, advice }, common)
}

//! `cellcc get`: a download.

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
  cellcc get quic://server:4433 --pin sha256:...                    for 10 s
  cellcc get quic://server:4433 --pin ... --scheme 'reminis(dtt=40ms)' --watch
  cellcc get quic://server:4433 --pin ... --frames 20Mbit/s,40ms    as video
  cellcc get quic://server:4433/film.mp4 --pin ... -o film.mp4

Exit status: 0 when complete; 1 when the transfer failed, 2 for bad input, 130 when interrupted.")]
pub(crate) struct Args {
    /// The server, and the file where one is wanted: quic://HOST:PORT/PATH.
    #[arg(value_name = "URL")]
    url: Url,
    /// Where to write the file [default: its name, in this folder].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Exit> {
    let Args { url, output, common } = args;
    let (payload, file) = if url.path.is_empty() {
        if output.is_some() {
            return Err(Exit::input(
                "--output: which file? Write its path after the address: quic://HOST:PORT/PATH",
            ));
        }
        (common.made.payload()?, None)
    } else {
        common.made.refuse_with_file()?;
        let name = url.path.rsplit('/').next().filter(|name| !name.is_empty());
        let file = output
            .or(name.map(PathBuf::from))
            .ok_or_else(|| Exit::input(format!("`{}` names a folder; write the path of a file", url.path)))?;
        (Payload::File { name: url.path.clone(), bytes: None }, Some(file))
    };
    // The server sends, and knows whom to ask.
    let advice = advice::Args::default();
    transfer::run(Asked { url, direction: Direction::Get, payload, file, advice }, common)
}

//! The flags of `cellcc compare`.

use crate::{grid, present};
use cellcc_experiment::{AckPolicy, LossDetection, Offset, ReceiveOffload, Seeds};
use cellcc_link::Queue;
use cellcc_report::TableFormat;
use cellcc_runner::{SeriesDetail, Shard};
use cellcc_units::{Bytes, Ratio, Span};
use std::path::PathBuf;

/// A flag that is not given leaves what the Scenario file says, or the quick start.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc compare
  cellcc compare --schemes 'cubic,reminis(dtt=40ms)' --traces my-traces/ --seeds 1..3 --out results
  cellcc compare --schemes '2*cubic+reminis@5s..60s' --traces 100Mbit/s lte-drive --queue 800pkt")]
pub(crate) struct Args {
    /// A Scenario in TOML; flags beside it have the last word.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) conditions: Conditions,
    #[command(flatten, next_help_heading = "Execution and output")]
    pub(crate) execution: ExecutionArgs,
}

/// What is run.
#[derive(Debug, Default, PartialEq, clap::Args)]
pub(crate) struct Conditions {
    // Not a doc comment: rustdoc takes the brackets for links.
    #[arg(long, short, value_name = "LIST")]
    #[arg(
        help = "Schemes, separated by commas: NAME or NAME(KEY=VALUE,...). Several flows on one link are joined by \
                  `+`, each [COUNT*]SCHEME[:SOURCE][@START[..STOP]][#USER]"
    )]
    pub(crate) schemes: Option<String>,
    /// Links: a trace file, a folder of them and of further folders, a pattern such as 'traces/**/*.mbps', the name of a
    /// synthetic link, a rate such as 100Mbit/s, or step=300Mbit/s@10s,600Mbit/s@20s.
    #[arg(long, short, num_args = 1.., value_name = "LINK")]
    pub(crate) traces: Vec<String>,
    /// Heading of the report.
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Seeds: 1, 1..3 (both ends included) or 1,4,7.
    #[arg(long)]
    pub(crate) seeds: Option<Seeds>,
    /// Whether a seed also draws where in its trace a run begins and when, within a round-trip time, its flows start: random
    /// or fixed [default: random where several --seeds are given without --scenario, otherwise fixed].
    #[arg(long, value_name = "WHICH")]
    pub(crate) offset: Option<Offset>,
    /// The scheme that the others are held against, in a table of ratios.
    #[arg(long, value_name = "SCHEME")]
    pub(crate) baseline: Option<String>,
    /// What runs the schemes, separated by commas: sim, the simulator; quic-virtual, the schemes in
    /// QUIC in virtual time; quic, the schemes in QUIC, and kernel, the TCP of this machine's kernel, both over real
    /// sockets through the emulator, in real time [default: sim].
    #[arg(long, value_name = "LIST")]
    pub(crate) driver: Option<String>,
    /// How long each run lasts, in the time of its driver: 60s.
    #[arg(long, short, value_name = "TIME")]
    pub(crate) duration: Option<Span>,

    /// Leave this long at the start of each run out of all metrics, not out of time series: 5s.
    #[arg(long, value_name = "TIME")]
    pub(crate) warm_up: Option<Span>,

    #[command(flatten, next_help_heading = "Path")]
    pub(crate) path: PathArgs,
    #[command(flatten, next_help_heading = "Sender and receiver")]
    pub(crate) endpoint: EndpointArgs,
}

#[derive(Debug, Default, PartialEq, clap::Args)]
pub(crate) struct PathArgs {
    /// Round-trip time without any queue: 20ms.
    #[arg(long, value_name = "TIME")]
    pub(crate) rtt: Option<Span>,
    /// The link's queue: drop-tail with a limit of 3200pkt, 1.5MB, 100ms or unlimited, or droptail(LIMIT,mark=1ms),
    /// drophead(LIMIT), codel(target=5ms,interval=100ms,limit=LIMIT,ecn),
    /// pie(target=15ms,burst=150ms,update=15ms,limit=LIMIT,ecn),
    /// red(min=7.5kB,max=22.5kB,probability=10%,limit=LIMIT,ecn),
    /// fq-codel(target=5ms,interval=100ms,quantum=1514B,queues=1024,limit=LIMIT,ecn) or
    /// abc(target=50ms,eta=98%,delta=133ms,limit=LIMIT); each part of the last five may be left out.
    /// codel(mahimahi) and pie(mahimahi) are Mahimahi's own.
    #[arg(long, value_name = "QUEUE")]
    pub(crate) queue: Option<Queue>,
    /// Share of data packets lost at random: 1%.
    #[arg(long, value_name = "SHARE")]
    pub(crate) loss: Option<Ratio>,
    /// Extra one-way delay over time: DELAY@FOR,DELAY@FOR,... such as 5ms@10s,20ms@5s; or @FILE, which holds the same on
    /// any number of lines.
    #[arg(long, value_name = "STEPS|@FILE")]
    pub(crate) extra_delay: Option<String>,
    /// Extra random loss of data packets over time: SHARE@FOR,SHARE@FOR,... such as 0%@10s,1%@5s; or @FILE.
    #[arg(long, value_name = "STEPS|@FILE")]
    pub(crate) extra_loss: Option<String>,
    /// Random extra delay of each data packet, up to this; order is kept: 5ms. (Otherwise: jitter_reorders in a Scenario.)
    #[arg(long, value_name = "TIME")]
    pub(crate) jitter: Option<Span>,
    /// Capacity of the reverse path, which carries the acknowledgements: as --traces.
    #[arg(long, value_name = "FILE|NAME|RATE")]
    pub(crate) reverse_rate: Option<String>,
    /// The queue of the reverse path: as --queue.
    #[arg(long, value_name = "QUEUE")]
    pub(crate) reverse_queue: Option<Queue>,
    /// Share of acknowledgements lost at random.
    #[arg(long, value_name = "SHARE")]
    pub(crate) reverse_loss: Option<Ratio>,
    /// Several users behind one base station: round-robin:TRACE,TRACE or proportional-fair:TRACE,TRACE gives the
    /// channels of users 1, 2, ...; user 0 has the trace of --traces. Flows join a user by #USER.
    #[arg(long, value_name = "SCHEDULER:LIST")]
    pub(crate) cell: Option<String>,
    /// Background flows of every run, written as in --schemes.
    #[arg(long, value_name = "FLOWS")]
    pub(crate) background: Option<String>,
}

#[derive(Debug, Default, PartialEq, clap::Args)]
pub(crate) struct EndpointArgs {
    /// Payload of a full packet: 1448B.
    #[arg(long, value_name = "BYTES")]
    pub(crate) mss: Option<Bytes>,
    /// Headers of every packet, as the link counts them: 52B.
    #[arg(long, value_name = "BYTES")]
    pub(crate) header: Option<Bytes>,
    /// Packets received per acknowledgement.
    #[arg(long, value_name = "COUNT")]
    pub(crate) ack_every: Option<u32>,
    /// The longest an acknowledgement waits, where --ack-every is above 1: 25ms.
    #[arg(long, value_name = "TIME")]
    pub(crate) max_ack_delay: Option<Span>,
    /// When the receiver acknowledges, instead of --ack-every: every-packet, delayed (TCP in Linux) or quic (RFC 9000), with
    /// parameters as in quic(threshold=10, max-ack-delay=25ms).
    #[arg(long, value_name = "POLICY")]
    pub(crate) acks: Option<AckPolicy>,
    /// Receive offload: packets that come together are acknowledged as one, gro or gro(flush=1ms) [default: none].
    #[arg(long, value_name = "OFFLOAD")]
    pub(crate) offload: Option<ReceiveOffload>,
    /// How the sender tells that a packet is lost: quic (RFC 9002) or rack, TCP's way (RFC 8985) [default: quic].
    #[arg(long, value_name = "WAY")]
    pub(crate) recovery: Option<LossDetection>,
    /// Let the simulator do what the driver kernel does, where no other flag says otherwise: acks=delayed, recovery=rack, and the
    /// settings that schemes have in Linux, such as cubic's hystart=on and variant=linux.
    #[arg(long)]
    pub(crate) like_linux: bool,
    /// Width of the bins of time series: 100ms.
    #[arg(long, value_name = "TIME")]
    pub(crate) series_bin: Option<Span>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExecutionArgs {
    /// How many runs go on at a time [default: one per processor].
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// The output folder [default: the next free one of cellcc-out/001, 002, ...].
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Finish what was interrupted in --out; with nothing else given, just that.
    #[arg(long, requires = "out", conflicts_with = "force")]
    pub(crate) resume: bool,
    /// Replace results that --out holds already.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// How much of time series and curves to keep: off, sampled (of curves the points that a figure can show apart) or full.
    #[arg(long, value_name = "HOW-MUCH", default_value = "sampled")]
    pub(crate) series: SeriesDetail,
    /// Run only a share of the plan, such as 2/8, for array jobs; `cellcc merge` joins the shares.
    #[arg(long, value_name = "INDEX/COUNT", requires = "out")]
    pub(crate) shard: Option<Shard>,
    /// Write the event log of each flow (every event, every decision of its scheme) to a file in this folder, for
    /// `cellcc replay`: RUN.flowINDEX.events.
    #[arg(long, value_name = "DIR")]
    pub(crate) events: Option<PathBuf>,
    /// How to print the table: JSON and CSV have a row a run, the others a row a scheme.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    pub(crate) format: TableFormat,
    #[command(flatten)]
    pub(crate) shown: present::Shown,
}

//! The table itself. A new condition is a row here and the field that its key names.

use super::takes::{
    CELL, DELAYS, LINKS, LIST, QUEUE, SWITCH, count, factor, parsed, share, size, text, time,
};
use super::{Condition, Section, both, flag, key, shell};
use crate::{AckPolicy, LossDetection, Offset, ReceiveOffload, Seeds};
use cellcc_link::{Access, BurstLoss, Harq, Policer, ShareOverTime};

/// The rows in the order of help and docs.
pub const SECTIONS: [Section; 5] = [
    Section { heading: None, varies: false, rows: GRID },
    Section { heading: None, varies: true, rows: TIME },
    Section { heading: Some("Path"), varies: true, rows: PATH },
    Section { heading: Some("Sender and receiver"), varies: true, rows: ENDPOINT },
    Section { heading: Some("Network assistance"), varies: true, rows: NETASSIST },
];

const GRID: &[Condition] = &[
    flag("schemes", "schemes", LIST).short('s').means(
        "Schemes, separated by commas: NAME or NAME(KEY=VALUE,...). Several flows on one link are \
         joined by `+`, each [COUNT*]SCHEME[:SOURCE][@START[..STOP]][#USER]",
    ),
    flag("traces", "traces", LINKS).short('t').means(
        "Links: a trace file, a folder of them and of further folders, a pattern such as \
         'traces/**/*.mbps', the name of a synthetic link, a rate such as 100Mbit/s, or \
         step=300Mbit/s@10s,600Mbit/s@20s",
    ),
    flag("title", "title", text("TITLE")).means("Heading of the report"),
    flag("seeds", "seeds", parsed::<Seeds>("SEEDS")).means("Seeds: 1, 1..3 (both ends included) or 1,4,7"),
    flag("offset", "offset", parsed::<Offset>("WHICH")).means(
        "Whether a seed also draws where in its trace a run begins and when, within a round-trip time, \
         its flows start: random or fixed [default: random where several --seeds are given without \
         --scenario, otherwise fixed]",
    ),
    flag("baseline", "baseline", text("SCHEME"))
        .means("The scheme that the others are held against, in a table of ratios"),
    flag("harm", "harm", text("VICTIM")).means(
        "Measure the harm of each of the schemes to this one: VICTIM alone, with its like, and with each of them, the second \
         flow 5 s later; numbers begin there",
    ),
    flag("driver", "drivers", LIST).means(
        "What runs the schemes, separated by commas: sim, the simulator; quic-virtual, the schemes, \
         and noq's own as noq:newreno, noq:cubic and noq:bbr3, in QUIC in virtual time; quic, the schemes in QUIC, and kernel, the TCP of this machine's kernel, \
         both over real sockets through the emulator, in real time [default: sim]",
    ),
];

const TIME: &[Condition] = &[
    flag("duration", "duration", time("above 0s up to 24h, such as 60s"))
        .short('d')
        .means("How long each run lasts, in the time of its driver"),
    flag("warm-up", "warm_up", time("0s to 24h, such as 5s"))
        .means("Leave this long at the start of each run out of all metrics, not out of time series"),
];

const PATH: &[Condition] = &[
    both("rtt", "path.rtt", time("above 0s up to 60s, such as 20ms"))
        .means("Round-trip time without any queue"),
    both("queue", "path.queue", QUEUE).means(
        "The link's queue: drop-tail with a limit of 3200pkt, 1.5MB, 100ms, 2bdp (mean rate of its trace x --rtt) or unlimited, or \
         one of {QUEUES}; parts with a key may be left out",
    ),
    both("policer", "path.policer", parsed::<Policer>("RATE,bucket=BYTES")).means(
        "Drop data packets that come faster than this, before the queue: a rate, and what may pass at once, \
         such as '10Mbit/s, bucket=250kB'",
    ),
    both("loss", "path.loss", share("0% to below 100%, such as 1%"))
        .means("Share of data packets lost at random"),
    both("extra-delay", "path.extra_delay", DELAYS).means(
        "Extra one-way delay over time: DELAY@FOR,DELAY@FOR,... such as 5ms@10s,20ms@5s; or @FILE, \
         which holds the same on any number of lines",
    ),
    both("extra-loss", "path.extra_loss", text("STEPS|@FILE")).means(
        "Extra random loss of data packets over time: SHARE@FOR,SHARE@FOR,... such as 0%@10s,1%@5s; or \
         @FILE",
    ),
    both("burst-loss", "path.burst_loss", parsed::<BurstLoss>("BURSTS")).means(
        "Data packets lost in bursts, in addition: the share of all packets, the mean packets for which the channel is bad, and the \
         share it then loses: 'share=1%, burst=8, lost=100%'; parts may be left out",
    ),
    both("jitter", "path.jitter", time("0s to 60s, such as 5ms")).means(
        "Random extra delay of each data packet, up to this; order is kept unless path.jitter_reorders \
         is set",
    ),
    shell("jitter-reorders", "path.jitter_reorders", SWITCH)
        .means("Let packets overtake each other through the jitter"),
    shell("reordered", "path.reordered", parsed::<ShareOverTime>("SHARE|STEPS"))
        .means("Share of data packets that arrive later than others sent after them, such as 1%; or over time, as --extra-loss"),
    shell("reordered-by", "path.reordered_by", time("0s to 60s, such as 10ms"))
        .means("By how much later those arrive [default: 10ms]"),
    key("path.grain", time("0s to 1s, such as 1ms")).means(
        "The clocks of links and delays stand still for so long, as those of Mahimahi's programs do for 1ms; both directions",
    ),
    both("access", "path.access", parsed::<Access>("ACCESS")).means(
        "What data wait that find the phone silent, where they go up: the cycle of requests, for how long grants go on, and what a \
         longer silence adds: 'request=20ms, stays=10ms, wake=15ms, wakes_after=1s'; parts may be left out",
    ),
    both("harq", "path.harq", parsed::<Harq>("HARQ")).means(
        "Blocks of the radio that fail in bursts and are sent again, in order: fdd or fdd-up; midband, mmwave and theirs with -up (shares \
         carried over from FDD); or parts, such as 'fdd, failed=9%'",
    ),
    flag("reverse-rate", "path.reverse.trace", text("FILE|NAME|RATE"))
        .shell("up")
        .means("Capacity of the reverse path, which carries the acknowledgements [default: no limit]"),
    flag("reverse-queue", "path.reverse.queue", QUEUE)
        .shell("up-queue")
        .means("The queue of the reverse path, written as in --queue"),
    flag("reverse-loss", "path.reverse.loss", share("0% to below 100%, such as 1%"))
        .shell("up-loss")
        .means("Share of packets of the reverse path lost at random"),
    flag("reverse-burst-loss", "path.reverse.burst_loss", parsed::<BurstLoss>("BURSTS"))
        .shell("up-burst-loss")
        .means("Packets of the reverse path lost in bursts: as --burst-loss"),
    flag("reverse-access", "path.reverse.access", parsed::<Access>("ACCESS"))
        .shell("up-access")
        .means("What packets of the reverse path wait that find the phone silent: as --access, of a download"),
    flag("reverse-harq", "path.reverse.harq", parsed::<Harq>("HARQ"))
        .shell("up-harq")
        .means("Repetitions on the reverse path: as --harq"),
    both("cell", "cell", CELL).means(
        "Several users behind one base station: round-robin:TRACE,TRACE or \
         proportional-fair:TRACE,TRACE gives the channels of users 1, 2, ...; user 0 has the link's. \
         Flows join a user by #USER",
    ),
    flag("background", "background", text("FLOWS"))
        .means("Background flows of every run, written as in --schemes"),
];

const ENDPOINT: &[Condition] = &[
    flag("mss", "endpoint.mss", size("64B to 65kB, such as 1448B")).means("Payload of a full packet"),
    flag("header", "endpoint.header", size("0B to 1kB, such as 52B"))
        .means("Headers of every packet, as the link counts them"),
    flag("ack-every", "endpoint.ack_every", count("1 to 1000")).means("Packets received per acknowledgement"),
    flag("max-ack-delay", "endpoint.max_ack_delay", time("0s to 10s, such as 25ms"))
        .means("The longest an acknowledgement waits, where --ack-every is above 1"),
    flag("acks", "endpoint.acks", parsed::<AckPolicy>("POLICY")).means(
        "When the receiver acknowledges, instead of --ack-every: every-packet, delayed (TCP in Linux) \
         or quic (RFC 9000), with parameters as in quic(threshold=10, max-ack-delay=25ms)",
    ),
    flag("offload", "endpoint.offload", parsed::<ReceiveOffload>("OFFLOAD")).means(
        "Receive offload: packets that come together are acknowledged as one, gro or gro(flush=1ms) \
         [default: none]",
    ),
    key("endpoint.conceals_loss", SWITCH)
        .means(
            "The simulator's receivers lie: they acknowledge what was lost, so that only delay, rate and marks tell of congestion. \
             A flow has at most 6 MiB in flight then, the largest receive window of Linux",
        ),
    flag("recovery", "endpoint.recovery", parsed::<LossDetection>("WAY")).means(
        "How the sender tells that a packet is lost: quic (RFC 9002) or rack, TCP's way (RFC 8985) \
         [default: quic]",
    ),
    flag("like-linux", "like_linux", SWITCH).means(
        "Let the simulator do what the driver kernel does, where no other flag says otherwise: \
         acks=delayed, recovery=rack, and the settings that schemes have in Linux, such as cubic's \
         hystart=on and variant=linux",
    ),
    flag("series-bin", "endpoint.series_bin", time("1ms to 60s, such as 100ms"))
        .means("Width of the bins of time series"),
    key("endpoint.receive_offload", SWITCH)
        .means("Real sockets: packets that left as one and are due together arrive as one [default: true]"),
];

const NETASSIST: &[Condition] = &[
    key("netassist.source", text("SOURCE")).means(
        "Where the bandwidth comes from. causal: what the queue was served in the past period, all that \
         a real network can know; oracle: what the link will offer in the coming period, as in the \
         paper's feedback files",
    ),
    key("netassist.period", time("1ms to 60s, such as 50ms")).means("Time between reports"),
    key("netassist.route", text("ROUTE")).means(
        "How reports travel. out-of-band: in their own messages, `delay` after they were made; in-band: \
         on the acknowledgements that pass the base station, which take the reverse path, and pause \
         while nothing is acknowledged",
    ),
    key("netassist.delay", time("0s to 10s, such as 1ms"))
        .means("From the edge to the server, out of band (the paper: 2 ms RTT)"),
    key("netassist.loss", share("0% to 100%, such as 1%")).means("Share of the reports that are lost"),
    key("netassist.foresight", time("0s to 60s, such as 500ms")).means(
        "An oracle reports on the period that ends so long after the report [default: the period]; 0s: \
         on the one that has just ended",
    ),
    key("netassist.channel_known", SWITCH).means(
        "The base station also knows what an idle or partly idle user's channel would carry (channel \
         quality reports)",
    ),
    key("netassist.scale", factor("0x to 100x, such as 2x"))
        .means("Factor on each reported bandwidth, to make reports wrong; 0x: a dead link is reported"),
    key("netassist.rtt_scale", factor("0x to 100x, such as 0.1x"))
        .means("Factor on each reported minimum RTT, to make reports wrong"),
    key("netassist.uplink_known", SWITCH).means(
        "The base station knows what its uplink adds to the minimum RTT; if not, it reports none [default: true]",
    ),
    key("netassist.late", time("0s to 60s, such as 500ms"))
        .means("How much longer than `delay` reports take"),
    key("netassist.duplicated", share("0% to 100%, such as 1%"))
        .means("Share of the reports that arrive again, `overtaken_by` later"),
    key("netassist.reordered", share("0% to 100%, such as 1%"))
        .means("Share of the reports that arrive `overtaken_by` late"),
    key("netassist.overtaken_by", time("0s to 60s, such as 500ms")).means(
        "By how much later those arrive [default: 75ms, one and a half periods: one younger report comes \
         before]",
    ),
    key("netassist.age_known", SWITCH)
        .means("The sender knows how old a report is; if not, a late one passes for new [default: true]"),
    key("netassist.wrong_from", text("TIME"))
        .means("From then on `scale`, `rtt_scale`, `late`, `duplicated` and `reordered` hold"),
    key("netassist.outages", LIST).means("Times without reports, [\"30s..40s\"]; [\"30s..\"] for good"),
    key("netassist.handovers", LIST).means(
        "When the user comes to another cell, [\"30s\"], whose NetAssist knows nothing of what was \
         before",
    ),
];

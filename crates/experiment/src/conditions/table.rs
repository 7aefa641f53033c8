//! The table itself. A new condition is a row here and the field that its key names.

use super::takes::{
    CELL, DELAYS, LINKS, LIST, QUEUE, SWITCH, count, factor, parsed, share, size, text, time,
};
use super::{Condition, Section, both, flag, key, shell};
use crate::{AckPolicy, LossDetection, Offset, ReceiveOffload, Seeds};
use cellcc_link::{Access, BurstLoss, CorrelatedJitter, Harq, Policer, ShareOverTime};
use cellcc_units::FirstWindow;

/// The rows in the order of help and docs.
pub const SECTIONS: [Section; 5] = [
    Section { heading: None, varies: false, rows: GRID },
    Section { heading: None, varies: true, rows: TIME },
    Section { heading: Some("Path"), varies: true, rows: PATH },
    Section { heading: Some("Sender and receiver"), varies: true, rows: ENDPOINT },
    Section { heading: Some("Network assistance"), varies: true, rows: NETASSIST },
];

const GRID: &[Condition] = &[
    flag("schemes", "schemes", LIST).short('s').brief("Schemes, comma-separated, such as cubic,tide,reminis(dtt=40ms)")
        .means(
        "Schemes, comma-separated: NAME or NAME(KEY=VALUE,...). Several flows on one link are joined by `+`, \
         each [COUNT*]SCHEME[:SOURCE][@START[..STOP]][#USER]",
    ),
    flag("traces", "traces", LINKS).short('t').brief("Trace files, folders, synthetic links, or rates")
        .means(
        "Links: trace files, folders of them, patterns such as 'traces/**/*.mbps', synthetic links, rates such \
         as 100Mbit/s, or step=300Mbit/s@10s,600Mbit/s@20s",
    ),
    flag("title", "title", text("TITLE")).means("Title of the report"),
    flag("seeds", "seeds", parsed::<Seeds>("SEEDS")).brief("Seeds: 1, 1..3 or 1,4,7")
        .means("Seeds: 1, 1..3 (both ends included) or 1,4,7"),
    flag("offset", "offset", parsed::<Offset>("WHICH")).means(
        "Start of a run in its trace, and of its flows within a round-trip time: random (drawn by the seed) or \
         fixed [default: random for several --seeds without --scenario, otherwise fixed]",
    ),
    flag("baseline", "baseline", text("SCHEME"))
        .brief("Baseline scheme of a table of ratios")
        .means("Baseline scheme of a table of ratios"),
    flag("harm", "harm", text("VICTIM")).means(
        "Measure how much each scheme reduces VICTIM's performance, compared with a second VICTIM flow \
         (Ware et al. 2019); the second flow starts 5 s later, and measurement with it",
    ),
    flag("driver", "drivers", LIST).brief("Drivers: sim, quic-virtual, quic, kernel [default: sim]")
        .means(
        "Drivers, comma-separated: sim (simulator), quic-virtual (QUIC in virtual time, also with noq:newreno, \
         noq:cubic and noq:bbr3), quic (QUIC over sockets), kernel (this machine's TCP); the last two run in \
         real time through the emulator [default: sim]",
    ),
];

const TIME: &[Condition] = &[
    flag("duration", "duration", time("above 0s up to 24h, such as 60s"))
        .short('d')
        .brief("Duration of each run")
        .means("Duration of each run"),
    flag("warm-up", "warm_up", time("0s to 24h, such as 5s"))
        .means("Time at the start of each run that metrics, but not time series, leave out"),
];

const PATH: &[Condition] = &[
    both("rtt", "path.rtt", time("above 0s up to 60s, such as 20ms"))
        .brief("Base round-trip time")
        .means("Base round-trip time"),
    both("queue", "path.queue", QUEUE).brief("3200pkt, 1.5MB, 100ms, 2bdp, unlimited, codel ...")
        .means(
        "Queue of the link: drop-tail with a limit of 3200pkt, 1.5MB, 100ms, 2bdp (mean rate of its trace x --rtt) or unlimited, or \
         one of {QUEUES}; parts with a key are optional",
    ),
    both("policer", "path.policer", parsed::<Policer>("RATE,bucket=BYTES")).means(
        "Policer before the queue, which drops data packets above a rate and a burst size, such as '10Mbit/s, bucket=250kB'",
    ),
    both("loss", "path.loss", share("0% to below 100%, such as 1%"))
        .brief("Random loss of data packets, e.g. 1%")
        .means("Random loss of data packets"),
    both("extra-delay", "path.extra_delay", DELAYS).means(
        "Extra one-way delay over time: DELAY@FOR,DELAY@FOR,... such as 5ms@10s,20ms@5s; or @FILE with these \
         on any number of lines, or with a recording (ping, LeoCC, JSON)",
    ),
    both("extra-loss", "path.extra_loss", text("STEPS|@FILE")).means(
        "Extra random loss of data packets over time: SHARE@FOR,SHARE@FOR,... such as 0%@10s,1%@5s; or \
         @FILE",
    ),
    both("burst-loss", "path.burst_loss", parsed::<BurstLoss>("BURSTS")).means(
        "Additional loss in bursts: fraction of all data packets, mean length of a bad period in packets, and \
         loss within it, such as 'share=1%, burst=8, lost=100%'; parts are optional",
    ),
    both("jitter", "path.jitter", time("0s to 60s, such as 5ms")).means(
        "Largest random extra delay of each data packet; packets stay in order unless path.jitter_reorders is set",
    ),
    both("correlated-jitter", "path.correlated_jitter", parsed::<CorrelatedJitter>("JITTER")).means(
        "Random extra delay of data packets that changes over time, as recorded ones do: mean, standard deviation, and the time \
         after which the logarithm has a correlation of 1/e left, such as 'mean=15ms, sd=19ms, memory=30ms'; parts are optional, \
         and `normal` replaces the log-normal distribution",
    ),
    shell("jitter-reorders", "path.jitter_reorders", SWITCH)
        .means("Let jitter reorder packets"),
    shell("reordered", "path.reordered", parsed::<ShareOverTime>("SHARE|STEPS"))
        .means("Reordered data packets, such as 1%; or over time, as --extra-loss"),
    shell("reordered-by", "path.reordered_by", time("0s to 60s, such as 10ms"))
        .means("Extra delay of reordered packets [default: 10ms]"),
    key("path.grain", time("0s to 1s, such as 1ms")).means(
        "Clock granularity of links and delays in both directions; 1ms is Mahimahi's",
    ),
    both("access", "path.access", parsed::<Access>("ACCESS")).means(
        "Uplink access delay of data after the phone has been idle: scheduling-request period, grant duration, and \
         wake-up delay after a longer silence, such as 'request=20ms, stays=10ms, wake=15ms, wakes_after=1s'; parts are optional",
    ),
    both("harq", "path.harq", parsed::<Harq>("HARQ")).means(
        "HARQ retransmissions: radio blocks fail in bursts and are sent again, in order: fdd or fdd-up; midband, mmwave and \
         theirs with -up (failure ratios of FDD); or parts, such as 'fdd, failed=9%'",
    ),
    flag("reverse-rate", "path.reverse.trace", text("FILE|NAME|RATE"))
        .shell("up")
        .brief("Capacity of the reverse path [default: no limit]")
        .means("Capacity of the reverse path, which carries acknowledgements [default: no limit]"),
    flag("reverse-queue", "path.reverse.queue", QUEUE)
        .shell("up-queue")
        .means("Queue of the reverse path, as in --queue"),
    flag("reverse-extra-delay", "path.reverse.extra_delay", DELAYS)
        .shell("up-extra-delay")
        .means("Extra delay on the reverse path over time, as in --extra-delay"),
    flag("reverse-loss", "path.reverse.loss", share("0% to below 100%, such as 1%"))
        .shell("up-loss")
        .means("Random loss on the reverse path"),
    flag("reverse-burst-loss", "path.reverse.burst_loss", parsed::<BurstLoss>("BURSTS"))
        .shell("up-burst-loss")
        .means("Loss in bursts on the reverse path, as in --burst-loss"),
    flag("reverse-access", "path.reverse.access", parsed::<Access>("ACCESS"))
        .shell("up-access")
        .means("Uplink access delay on the reverse path of a download, as in --access"),
    flag("reverse-harq", "path.reverse.harq", parsed::<Harq>("HARQ"))
        .shell("up-harq")
        .means("HARQ retransmissions on the reverse path, as in --harq"),
    both("cell", "cell", CELL).means(
        "Several users behind one base station: round-robin:TRACE,TRACE or proportional-fair:TRACE,TRACE, the \
         channels of users 1, 2, ...; user 0 has the link's. #USER assigns a flow to a user",
    ),
    flag("background", "background", text("FLOWS"))
        .means("Background flows of every run, as in --schemes"),
];

const ENDPOINT: &[Condition] = &[
    flag("mss", "endpoint.mss", size("64B to 65kB, such as 1448B")).means("Payload of a full-sized packet"),
    flag("header", "endpoint.header", size("0B to 1kB, such as 52B"))
        .means("Header bytes per packet on the link"),
    flag("ack-every", "endpoint.ack_every", count("1 to 1000")).means("Packets received per acknowledgement"),
    flag("max-ack-delay", "endpoint.max_ack_delay", time("0s to 10s, such as 25ms"))
        .means("Longest delay of an acknowledgement, if --ack-every is above 1"),
    flag("acks", "endpoint.acks", parsed::<AckPolicy>("POLICY")).means(
        "Acknowledgement policy of the receiver, instead of --ack-every: every-packet, delayed (TCP in Linux) \
         or quic (RFC 9000), with parameters as in quic(threshold=10, max-ack-delay=25ms)",
    ),
    flag("offload", "endpoint.offload", parsed::<ReceiveOffload>("OFFLOAD")).means(
        "Receive offload: gro or gro(flush=1ms) acknowledges packets that arrive together as one \
         [default: none]",
    ),
    key("endpoint.conceals_loss", SWITCH)
        .means(
            "The simulator's receivers acknowledge lost packets, so that only delay, rate and marks signal congestion. \
             A flow then has at most 6 MiB in flight, the largest receive window of Linux",
        ),
    flag("recovery", "endpoint.recovery", parsed::<LossDetection>("WAY")).means(
        "Loss detection of the sender: quic (RFC 9002) or rack, TCP's (RFC 8985) \
         [default: quic]",
    ),
    key("endpoint.over_udp", SWITCH).means(
        "Every packet of a scheme that its authors ran as a program over UDP (copa, sprout, verus, vivace) is acknowledged by itself, \
         and losses are found as by --recovery quic; --acks, --offload and --recovery apply to the other schemes",
    ),
    flag("initial-window", "endpoint.initial_window", parsed::<FirstWindow>("SIZE")).means(
        "First window of each flow, such as 32pkt or 48kB; a flow's own is written SCHEME^32pkt \
         [default: 10pkt, RFC 6928]",
    ),
    flag("like-linux", "like_linux", SWITCH).means(
        "Simulate Linux: recovery=rack, and unless other flags differ acks=delayed and the schemes' settings in \
         Linux (docs/how-to/drivers.md)",
    ),
    flag("series-bin", "endpoint.series_bin", time("1ms to 60s, such as 100ms"))
        .means("Bin width of time series"),
    key("endpoint.receive_offload", SWITCH)
        .means("Real sockets: packets that left together and are due together arrive together [default: true]"),
];

const NETASSIST: &[Condition] = &[
    key("netassist.source", text("SOURCE")).means(
        "Source of the reported bandwidth. causal: the service of the queue in the past period, which is all that \
         a real network can know; oracle: the link's offer in the coming period, as in the paper's feedback files",
    ),
    key("netassist.period", time("1ms to 60s, such as 50ms")).means("Time between reports"),
    key("netassist.route", text("ROUTE")).means(
        "Route of reports. out-of-band: in their own messages, `delay` after they were made; in-band: on the \
         acknowledgements through the base station, hence on the reverse path, and only while there are any",
    ),
    key("netassist.delay", time("0s to 10s, such as 1ms"))
        .means("Delay from the edge to the server, out of band (the paper: 2 ms RTT)"),
    key("netassist.loss", share("0% to 100%, such as 1%")).means("Loss of reports"),
    key("netassist.foresight", time("0s to 60s, such as 500ms")).means(
        "Time from an oracle's report to the end of the period that it describes [default: the period]; 0s: \
         the period that has just ended",
    ),
    key("netassist.channel_known", SWITCH).means(
        "The base station also knows the channel rate of an idle or partly idle user (channel quality \
         reports)",
    ),
    key("netassist.scale", factor("0x to 100x, such as 2x"))
        .means("Factor on each reported bandwidth, to make reports wrong; 0x reports a dead link"),
    key("netassist.rtt_scale", factor("0x to 100x, such as 0.1x"))
        .means("Factor on each reported minimum RTT, to make reports wrong"),
    key("netassist.uplink_known", SWITCH).means(
        "The base station knows its uplink's part of the minimum RTT; if not, it reports no RTT [default: true]",
    ),
    key("netassist.late", time("0s to 60s, such as 500ms"))
        .means("Delay of reports beyond `delay`"),
    key("netassist.duplicated", share("0% to 100%, such as 1%"))
        .means("Reports that arrive twice, the second time `overtaken_by` later"),
    key("netassist.reordered", share("0% to 100%, such as 1%"))
        .means("Reports that arrive `overtaken_by` late"),
    key("netassist.overtaken_by", time("0s to 60s, such as 500ms")).means(
        "Extra delay of those reports [default: 75ms, one and a half periods: one younger report overtakes]",
    ),
    key("netassist.age_known", SWITCH)
        .means("The sender knows the age of a report; if not, a late one counts as new [default: true]"),
    key("netassist.wrong_from", text("TIME"))
        .means("Start of the effect of `scale`, `rtt_scale`, `late`, `duplicated` and `reordered`"),
    key("netassist.outages", LIST).means("Times without reports, [\"30s..40s\"]; [\"30s..\"] never ends"),
    key("netassist.handovers", LIST).means(
        "Times at which the user moves to another cell, [\"30s\"], whose NetAssist starts without history",
    ),
];

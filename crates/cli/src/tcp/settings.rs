//! Settings of a scheme on the command line. The registry of schemes knows which scheme has which, and their ranges.

#[derive(Debug, clap::Args)]
pub(super) struct Given {
    /// Reminis: the RTT to stay below, as a time, or as a multiple of the minimum RTT such as 1.5x.
    #[arg(long, value_name = "TIME")]
    dtt: Option<String>,
    /// C2TCP: the mean RTT that its tuner aims at, in v1 the most that an RTT may be; as --dtt.
    #[arg(long, value_name = "TIME")]
    target: Option<String>,
    /// Which reading: of Reminis paper, literal or following; of Westwood+ paper or linux; of C2TCP v2 or v1 (which sets its target,
    /// too).
    #[arg(long)]
    profile: Option<String>,
    /// NATCP, NACubic and BBR with network assistance: the window in bandwidth-delay products. C2TCP: minimum RTTs in
    /// the setpoint of a new connection. Vegas: the packets in the queue below which its window grows.
    #[arg(long, value_name = "NUMBER")]
    alpha: Option<String>,
    /// C2TCP: whether alpha follows the mean RTT, on or off.
    #[arg(long)]
    tuner: Option<String>,
    /// Tide: the queueing delay aimed for on a steady link, such as 5ms.
    #[arg(long, value_name = "TIME")]
    delay: Option<String>,
    /// Tide: default, interactive or bulk, a delay of 5, 2.5 or 20 ms.
    #[arg(long)]
    preset: Option<String>,
}

impl Given {
    /// Keys and values, as the registry has them.
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let Self { dtt, target, profile, alpha, tuner, delay, preset } = self;
        [
            ("dtt", dtt),
            ("target", target),
            ("profile", profile),
            ("alpha", alpha),
            ("tuner", tuner),
            ("delay", delay),
            ("preset", preset),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value.clone()?)))
        .collect()
    }
}

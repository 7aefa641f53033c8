//! The JSON of simulators: Sabre's lists, the patterns of AlphaRTC's gym, and Genet's columns.

use super::forms::{Content, Given};
use super::series::{A_DELAY, A_RATE, A_TIME, Series, capacity, measured, rate};
use super::{Delays, Problem, TraceError};
use cellcc_units::{Rate, Span};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The JSON of a file as this type.
pub(super) fn from_json<T: DeserializeOwned>(given: &Given<'_>) -> Result<T, TraceError> {
    serde_json::from_str(given.text).map_err(|cause| given.at(cause.line() as u64, Problem::Json(cause)))
}

/// A stretch of time: milliseconds, kbit/s, and milliseconds of a round trip.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Stretch {
    #[serde(alias = "duration_ms")]
    duration: f64,
    #[serde(alias = "bandwidth_kbps")]
    capacity: f64,
    #[serde(alias = "latency_ms")]
    rtt: Option<f64>,
    /// Percent.
    loss: Option<f64>,
}

/// Sabre's list (UMass-LIDS/sabre, `load_json` of `sabre.py`).
pub(super) fn sabre(given: &Given<'_>) -> Result<Content, TraceError> {
    stretches(given, &from_json::<Vec<Stretch>>(given)?)
}

/// The pattern of AlphaRTC's gym, in one direction (OpenNetLab/gym, `traces/trace_example.json`).
pub(super) fn alpha_rtc(given: &Given<'_>) -> Result<Content, TraceError> {
    #[derive(Deserialize)]
    struct Directions {
        #[serde(default)]
        uplink: Direction,
        #[serde(default)]
        downlink: Direction,
    }
    #[derive(Deserialize, Default)]
    struct Direction {
        #[serde(default)]
        trace_pattern: Vec<Stretch>,
    }
    let Directions { uplink, downlink } = from_json(given)?;
    match (uplink.trace_pattern.as_slice(), downlink.trace_pattern.as_slice()) {
        (up, []) => stretches(given, up),
        ([], down) => stretches(given, down),
        (..) => Err(given.whole(Problem::TwoDirections)),
    }
}

fn stretches(given: &Given<'_>, list: &[Stretch]) -> Result<Content, TraceError> {
    let read = |stretch: &Stretch| -> Result<(Span, Rate, Option<Span>), Problem> {
        let length = Span::from_secs_f64(measured(stretch.duration, A_TIME)? / 1e3);
        let mbit = measured(stretch.capacity, A_RATE)? / 1e3;
        let rtt = stretch.rtt.map(|ms| measured(ms, A_DELAY)).transpose()?;
        Ok((length, rate(mbit)?, rtt.map(|ms| Span::from_secs_f64(ms / 1e3))))
    };
    let list_of = list.iter().map(read).collect::<Result<Vec<_>, _>>().map_err(|cause| given.whole(cause))?;
    let rates = list_of.iter().map(|&(length, rate, _)| (length, rate)).collect();
    let delays: Option<Vec<_>> = list_of.iter().map(|&(length, _, rtt)| Some((length, rtt?))).collect();
    let lossy = list.iter().filter(|stretch| stretch.loss.is_some_and(|loss| loss > 0.0)).count();
    Ok(Content {
        capacity: Some(capacity(given.name, rates)?),
        delays: delays.map(|steps| Delays { steps, are_round_trips: true }),
        notes: match lossy {
            0 => Vec::new(),
            _ => vec![format!(
                "the file also has loss, in {lossy} of its {} parts, for --extra-loss",
                list.len()
            )],
        },
    })
}

/// Genet's columns (GenetProject/Genet, `Trace.load_from_file` of its simulator of congestion control).
pub(super) fn genet(given: &Given<'_>) -> Result<Content, TraceError> {
    #[derive(Deserialize)]
    struct Columns {
        /// Seconds.
        timestamps: Vec<f64>,
        /// Mbit/s.
        bandwidths: Vec<f64>,
        /// Milliseconds, one way.
        #[serde(default)]
        delays: Vec<f64>,
        /// A share, and the packets of the queue.
        loss: Option<f64>,
        queue: Option<f64>,
    }
    let columns: Columns = from_json(given)?;
    let whole = |problem| given.whole(problem);
    let (times, rates) = (columns.timestamps.len(), columns.bandwidths.len());
    if times != rates {
        return Err(whole(Problem::Unequal {
            columns: ["timestamps", "bandwidths"],
            counts: [times, rates],
        }));
    }
    let mut series = Series::new(given.name);
    let mut delays = Series::new(given.name);
    for (index, (&secs, &mbit)) in columns.timestamps.iter().zip(&columns.bandwidths).enumerate() {
        let secs = measured(secs, A_TIME).map_err(whole)?;
        series.push(None, secs, measured(mbit, A_RATE).and_then(rate).map_err(whole)?)?;
        if let Some(&ms) = columns.delays.get(index) {
            let delay = measured(ms, A_DELAY).map_err(whole)?;
            delays.push(None, secs, Span::from_secs_f64(delay / 1e3))?;
        }
    }
    let has_delays = !columns.delays.is_empty();
    let delays = has_delays.then(|| delays.finish()).transpose()?;
    let loss = columns.loss.filter(|&share| share > 0.0).map(|share| {
        let percent = share * 100.0;
        format!("the file also has loss of {percent:.3} %; --loss {percent:.3}% applies it")
    });
    let queue = columns.queue.filter(|&packets| packets > 0.0).map(|packets| {
        format!("the file also has a queue of {packets} packets; --queue {packets}pkt applies it")
    });
    Ok(Content {
        capacity: Some(series.capacity()?),
        delays: delays.map(|steps| Delays { steps, are_round_trips: false }),
        notes: loss.into_iter().chain(queue).collect(),
    })
}

//! Episodes of agents in the simulator, stepped together.

mod external;

use crate::error::{InputError, input, of_request};
use crate::options;
use cellcc_control::SchemeInfo;
use cellcc_experiment::virtual_time::Run;
use cellcc_experiment::{PlanFile, Resolved, RunError};
use cellcc_link::Capacity;
use cellcc_runner::Request;
use cellcc_schemes::learned::{Agent, AgentKind, Decides, Interval};
use cellcc_sim::{Ends, SimDriver};
use cellcc_units::{Bytes, Span, Time};
use external::{External, Mailbox};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, PoisonError};

/// The scheme of a flow that an agent steers.
const SCHEME: &str = "agent";

/// Those of the controllers of an episode, by flow.
type Mailboxes = Arc<Mutex<Vec<Arc<Mailbox>>>>;

/// An agent, and the controller that it steers.
struct Learner {
    mailbox: Arc<Mailbox>,
    agent: Agent,
    last: Interval,
}

/// An episode under way. Its first flows are the learners', in their order.
struct Episode {
    run: Run<Ends>,
    learners: Vec<Learner>,
    capacity: Arc<Capacity>,
    rtt: Span,
    delivered_packets: u64,
}

impl Episode {
    /// Takes a decision of each learner, and lets the interval pass: the longest of theirs. Gives the rewards, and whether the
    /// episode is over.
    fn step(
        &mut self,
        actions: &[f32],
        rewards: &mut [f64],
        observations: &mut [f32],
        decides: Decides,
    ) -> Result<bool, RunError> {
        let from = self.run.now();
        let min_rtt = |index| {
            let rtt = self.run.ends(index).flow().rtt();
            rtt.latest().map_or(self.rtt, |_| rtt.min())
        };
        let length = (0..self.learners.len()).map(|index| decides.interval(min_rtt(index))).max();
        let next = from + length.unwrap_or_default();
        for (index, (learner, action)) in self.learners.iter_mut().zip(actions).enumerate() {
            let steering = learner.agent.act(f64::from(*action));
            learner.mailbox.steer(steering, from, next, self.run.ends(index).flow().sent());
        }
        self.run.step_until(next)?;
        let now = self.run.now();
        let carried = self.capacity.bytes_between(from, now).as_f64();
        let width = observations.len() / self.learners.len();
        let seen = observations.chunks_exact_mut(width).zip(rewards);
        for (index, (learner, (observation, rewarded))) in self.learners.iter_mut().zip(seen).enumerate() {
            let interval = learner.mailbox.interval(now, self.run.ends(index).flow());
            self.delivered_packets += interval.delivered_packets;
            learner.agent.observe(&interval);
            observation.copy_from_slice(learner.agent.observation());
            *rewarded = learner.agent.reward(&interval, carried);
            learner.last = interval;
        }
        Ok(self.run.is_over())
    }

    fn line(&self) -> String {
        let learner = |learner: &Learner| {
            let Interval { length_s, delivered_bytes, min_rtt_s, window_bytes, .. } = learner.last;
            let mbit_s = if length_s > 0.0 { delivered_bytes as f64 / 125_000.0 / length_s } else { 0.0 };
            let queueing_ms = learner.last.queueing_rtts() * min_rtt_s * 1e3;
            format!("  {mbit_s:.2} Mbit/s, {queueing_ms:.1} ms queued, window {}", Bytes::new(window_bytes))
        };
        let learners: String = self.learners.iter().map(learner).collect();
        format!("{:.2} s{learners}", self.run.now().since(Time::ZERO).as_secs_f64())
    }
}

/// Episodes side by side. All have the same agents and the same conditions but those that `begin` names.
#[pyclass(module = "cellcc")]
pub(crate) struct Episodes {
    conditions: PlanFile,
    kind: AgentKind,
    decides: Decides,
    /// Agents that share the link of an episode.
    learners: usize,
    driver: SimDriver,
    /// The mailboxes of the controllers that were built last.
    newest: Mailboxes,
    /// Behind a lock only because Python may hand the object from thread to thread.
    episodes: Mutex<Vec<Option<Episode>>>,
}

#[pymethods]
impl Episodes {
    /// `count` episodes to come, each with so many learners. `interval` is a time with its unit, or a number of minimum round-trip
    /// times such as `1rtt`.
    #[new]
    fn new(
        count: usize,
        agent: &str,
        interval: &str,
        learners: usize,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let newest = Mailboxes::default();
        let mut registry = cellcc_schemes::registry();
        let kind = agent.parse().map_err(|problem| InputError::new_err(format!("agent: {problem}")))?;
        registry.register(scheme(kind, &newest));
        options.set_item("schemes", [format!("{learners}*{SCHEME}")])?;
        let mut conditions = options::request(None, options)?.file;
        conditions.endpoint.series_bin = conditions.endpoint.series_bin.max(Span::from_secs(1));
        Ok(Self {
            conditions,
            kind,
            decides: interval
                .parse()
                .map_err(|problem| InputError::new_err(format!("interval: {problem}")))?,
            learners,
            driver: SimDriver::new(registry),
            newest,
            episodes: Mutex::new((0..count).map(|_| None).collect()),
        })
    }

    /// How many numbers an observation of a learner has.
    #[getter]
    fn width(&self) -> usize {
        let (features, history) = self.kind.shape();
        features * history
    }

    /// Packets delivered to the agents' flows in the episode.
    fn delivered_packets(&self, index: usize) -> u64 {
        let episodes = self.episodes.lock().unwrap_or_else(PoisonError::into_inner);
        episodes.get(index).and_then(Option::as_ref).map_or(0, |episode| episode.delivered_packets)
    }

    /// Where an episode is, in a line: its time, and of each learner the last interval's throughput, queueing delay and window.
    fn line(&self, index: usize) -> String {
        let episodes = self.episodes.lock().unwrap_or_else(PoisonError::into_inner);
        episodes.get(index).and_then(Option::as_ref).map_or_else(String::new, Episode::line)
    }

    /// Begins a new episode under these conditions.
    #[pyo3(signature = (index, seed, *, trace, rtt=None, queue=None, background=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn begin(
        &mut self,
        py: Python<'_>,
        index: usize,
        seed: u64,
        trace: String,
        rtt: Option<&str>,
        queue: Option<&str>,
        background: Option<String>,
    ) -> PyResult<()> {
        let mut file = self.conditions.clone();
        file.traces = vec![trace];
        file.seeds = seed.to_string().parse().map_err(input)?;
        if let Some(rtt) = rtt {
            file.path.rtt = rtt.parse().map_err(input)?;
        }
        if let Some(queue) = queue {
            file.path.queue = queue.parse().map_err(input)?;
        }
        if let Some(background) = background {
            file.background = background;
        }
        let episode = py.detach(|| self.episode(file))?;
        let slot = all(&mut self.episodes).get_mut(index);
        *slot.ok_or_else(|| PyRuntimeError::new_err(format!("there is no episode {index}")))? = Some(episode);
        Ok(())
    }

    /// Takes the learners' decisions in every episode but those that are `over`, and lets their intervals pass. True where some are
    /// over then.
    fn step(
        &mut self,
        py: Python<'_>,
        actions: PyBuffer<f32>,
        observations: PyBuffer<f32>,
        rewards: PyBuffer<f64>,
        over: PyBuffer<u8>,
    ) -> PyResult<bool> {
        let actions = actions.to_vec(py)?;
        let mut seen = observations.to_vec(py)?;
        let mut ended = over.to_vec(py)?;
        let (width, learners, decides) = (self.width(), self.learners, self.decides);
        let episodes = all(&mut self.episodes);
        let count = episodes.len();
        let agents = count * learners;
        let mut rewarded = vec![0.0; agents];
        if actions.len() != agents
            || seen.len() != agents * width
            || ended.len() != count
            || rewards.item_count() != agents
        {
            return Err(InputError::new_err(format!(
                "arrays for {count} episodes with {learners} learners of {width} numbers are wanted"
            )));
        }
        py.detach(|| {
            for (index, episode) in episodes.iter_mut().enumerate() {
                let Some(episode) = episode.as_mut().filter(|_| ended[index] == 0) else { continue };
                let own = index * learners..(index + 1) * learners;
                let observations = &mut seen[own.start * width..own.end * width];
                let is_over =
                    episode.step(&actions[own.clone()], &mut rewarded[own], observations, decides)?;
                ended[index] = u8::from(is_over);
            }
            Ok(())
        })
        .map_err(|error: RunError| crate::error::RunError::new_err(error.to_string()))?;
        observations.copy_from_slice(py, &seen)?;
        rewards.copy_from_slice(py, &rewarded)?;
        over.copy_from_slice(py, &ended)?;
        Ok(ended.contains(&1))
    }
}

fn all(episodes: &mut Mutex<Vec<Option<Episode>>>) -> &mut Vec<Option<Episode>> {
    episodes.get_mut().unwrap_or_else(PoisonError::into_inner)
}

impl Episodes {
    fn episode(&self, file: PlanFile) -> PyResult<Episode> {
        let kind = self.kind;
        let request = Request { file, name: "the environment".into() };
        request.check().map_err(of_request)?;
        let plan = request.plan(&self.driver, "").map_err(of_request)?;
        let mut scenarios = plan.runs.into_iter().map(|run| run.scenario);
        let scenario: Resolved =
            scenarios.find(|scenario| !scenario.flows.is_empty()).expect("the agent's run");
        let run = self
            .driver
            .begin(&scenario)
            .map_err(|error| crate::error::RunError::new_err(error.to_string()))?;
        let mailboxes = std::mem::take(&mut *self.newest.lock().unwrap_or_else(PoisonError::into_inner));
        let capacity = Arc::clone(run.capacity(0));
        let (packet, rtt) = (scenario.endpoint.packet(), scenario.path.rtt);
        let learner = |(index, mailbox)| {
            let window = run.ends(index).flow().limits().window;
            let agent = Agent::new(kind, packet, window, rtt.as_secs_f64());
            Learner { mailbox, agent, last: Interval::default() }
        };
        let learners = mailboxes.into_iter().enumerate().map(learner).collect();
        Ok(Episode { run, learners, capacity, rtt, delivered_packets: 0 })
    }
}

fn scheme(kind: AgentKind, newest: &Mailboxes) -> SchemeInfo {
    let newest = Arc::clone(newest);
    SchemeInfo::new(
        SCHEME,
        "a flow that an agent of the environment steers",
        "the environment",
        move |_, context| {
            let mailbox = Arc::new(Mailbox::new(kind));
            newest.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&mailbox));
            Box::new(External::new(kind, mailbox, context))
        },
    )
}

//! Episodes of agents in the simulator, stepped together.

mod external;
mod reward;

use crate::error::{InputError, input, of_request};
use crate::options;
use cellcc_control::{Needs, SchemeInfo};
use cellcc_experiment::virtual_time::Run;
use cellcc_experiment::{PlanFile, RunError, Scenario};
use cellcc_link::Capacity;
use cellcc_runner::Request;
use cellcc_schemes::learned::{Agent, AgentKind, Decides};
use cellcc_sim::{Ends, SimDriver};
use cellcc_units::Span;
use external::{External, Mailbox};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use reward::reward;
use std::sync::{Arc, Mutex, PoisonError};

/// The scheme of the flow that an agent steers.
const SCHEME: &str = "agent";

/// An episode under way.
struct Episode {
    run: Run<Ends>,
    mailbox: Arc<Mailbox>,
    kind: AgentKind,
    agent: Agent,
    capacity: Arc<Capacity>,
    rtt: Span,
    delivered_packets: u64,
}

impl Episode {
    /// Takes one decision, and lets its interval pass. Gives the reward, and whether the episode is over.
    fn step(&mut self, action: f64, decides: Decides) -> Result<(f64, bool), RunError> {
        let from = self.run.now();
        let flow = self.run.ends(0).flow();
        let min_rtt = flow.rtt().latest().map_or(self.rtt, |_| flow.rtt().min());
        let next = from + decides.interval(min_rtt);
        self.mailbox.steer(self.agent.act(action), from, next, flow.sent());
        self.run.step_until(next)?;
        let now = self.run.now();
        let flow = self.run.ends(0).flow();
        let interval = self.mailbox.interval(now, flow.sent());
        self.delivered_packets += interval.delivered_packets;
        self.agent.observe(&interval);
        let carried = self.capacity.bytes_between(from, now).as_f64();
        Ok((reward(self.kind, &self.agent, &interval, carried), self.run.is_over()))
    }
}

/// Episodes side by side. All have the same agent and the same conditions but those that `begin` names.
#[pyclass(module = "cellcc")]
pub(crate) struct Episodes {
    conditions: PlanFile,
    kind: AgentKind,
    decides: Decides,
    driver: SimDriver,
    /// The mailbox of the controller that was built last.
    newest: Arc<Mutex<Option<Arc<Mailbox>>>>,
    /// Behind a lock only because Python may hand the object from thread to thread.
    episodes: Mutex<Vec<Option<Episode>>>,
}

#[pymethods]
impl Episodes {
    /// `count` episodes to come. `interval` is a time with its unit, or a number of minimum round-trip times such as `1rtt`.
    #[new]
    fn new(count: usize, agent: &str, interval: &str, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let newest = Arc::new(Mutex::new(None));
        let mut registry = cellcc_schemes::registry();
        let kind = agent.parse().map_err(|problem| InputError::new_err(format!("agent: {problem}")))?;
        registry.register(scheme(kind, &newest));
        options.set_item("schemes", [SCHEME])?;
        let mut conditions = options::request(None, options)?.file;
        conditions.endpoint.series_bin = conditions.endpoint.series_bin.max(Span::from_secs(1));
        Ok(Self {
            conditions,
            kind,
            decides: interval
                .parse()
                .map_err(|problem| InputError::new_err(format!("interval: {problem}")))?,
            driver: SimDriver::new(registry),
            newest,
            episodes: Mutex::new((0..count).map(|_| None).collect()),
        })
    }

    /// How many numbers an observation has.
    #[getter]
    fn width(&self) -> usize {
        let (features, history) = self.kind.shape();
        features * history
    }

    /// Packets delivered to the agent's flow in the episode.
    fn delivered_packets(&self, index: usize) -> u64 {
        let episodes = self.episodes.lock().unwrap_or_else(PoisonError::into_inner);
        episodes.get(index).and_then(Option::as_ref).map_or(0, |episode| episode.delivered_packets)
    }

    /// Begins an episode anew under these conditions.
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

    /// Takes a decision in every episode but those that are `over`, and lets their intervals pass. True where some are over
    /// then.
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
        let (width, decides) = (self.width(), self.decides);
        let episodes = all(&mut self.episodes);
        let count = episodes.len();
        let mut rewarded = vec![0.0; count];
        if actions.len() != count
            || seen.len() != count * width
            || ended.len() != count
            || rewards.item_count() != count
        {
            return Err(InputError::new_err(format!(
                "arrays for {count} episodes of {width} numbers are wanted"
            )));
        }
        py.detach(|| {
            for (index, episode) in episodes.iter_mut().enumerate() {
                let Some(episode) = episode.as_mut().filter(|_| ended[index] == 0) else { continue };
                let (reward, is_over) = episode.step(f64::from(actions[index]), decides)?;
                rewarded[index] = reward;
                ended[index] = u8::from(is_over);
                seen[index * width..][..width].copy_from_slice(episode.agent.observation());
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
        let scenario: Scenario =
            scenarios.find(|scenario| !scenario.flows.is_empty()).expect("the agent's run");
        let run = self
            .driver
            .begin(&scenario)
            .map_err(|error| crate::error::RunError::new_err(error.to_string()))?;
        let mailbox =
            self.newest.lock().unwrap_or_else(PoisonError::into_inner).take().expect("an agent's controller");
        let capacity = Arc::clone(run.capacity(0));
        let (packet, rtt) = (scenario.endpoint.packet(), scenario.path.rtt);
        let flow = run.ends(0).flow();
        let agent = Agent::new(kind, packet, flow.limits().window, rtt.as_secs_f64());
        Ok(Episode { run, mailbox, kind, agent, capacity, rtt, delivered_packets: 0 })
    }
}

fn scheme(kind: AgentKind, newest: &Arc<Mutex<Option<Arc<Mailbox>>>>) -> SchemeInfo {
    let newest = Arc::clone(newest);
    SchemeInfo {
        name: SCHEME.into(),
        summary: "the flow that the environment's agent steers".into(),
        source: "the environment".into(),
        parameters: Vec::new(),
        presets: Vec::new(),
        shows: Vec::new(),
        needs: Needs::NOTHING,
        build: Arc::new(move |_, context| {
            let mailbox = Arc::new(Mailbox::new(kind));
            *newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&mailbox));
            Box::new(External::new(kind, mailbox, context))
        }),
    }
}

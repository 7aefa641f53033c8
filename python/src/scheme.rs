//! A congestion control written in Python. Each of its decisions takes Python's lock: for teaching and for first tries.

use cellcc_control::{self as control, Context, Controller, Limits, Parameter, Sampler, SchemeInfo, kind};
use cellcc_experiment::{Driver, Record, ResolveError, Resolved, RunError, Scenario, Watch};
use cellcc_units::{Bytes, Rate, Span, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, PoisonError};

/// A scheme that Python has registered.
pub(crate) struct PythonScheme {
    pub(crate) name: String,
    pub(crate) summary: String,
    /// The keyword arguments of `build`, with their defaults.
    pub(crate) parameters: Vec<(String, f64)>,
    /// Names its code.
    pub(crate) word: String,
    /// The class.
    pub(crate) build: Py<PyAny>,
}

/// The first exception of a plan's scheme.
#[derive(Default)]
pub(crate) struct Problem(Mutex<Option<PyErr>>);

impl Problem {
    /// Takes it out.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn tell(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

impl PythonScheme {
    /// Its entry in the registry.
    pub(crate) fn info(self: &Arc<Self>, problem: &Arc<Problem>) -> SchemeInfo {
        let parameter = |(name, default): &(String, f64)| Parameter {
            name: name.clone().into(),
            takes: kind::Number(f64::MIN, f64::MAX),
            default: *default,
            meaning: "an argument of the class".into(),
            source: "the class".into(),
        };
        let parameters: Vec<_> = self.parameters.iter().map(parameter).collect();
        let taken = parameters.iter().cloned().map(Into::into).collect();
        let (scheme, problem) = (Arc::clone(self), Arc::clone(problem));
        SchemeInfo::new(
            self.name.clone(),
            self.summary.clone(),
            "written in Python",
            move |arguments, context| {
                let values = parameters.iter().map(|parameter| (&*parameter.name, arguments.get(parameter)));
                Box::new(PythonController::new(&scheme, values, context, Arc::clone(&problem)))
            },
        )
        .parameters(taken)
    }

    /// Its entry under the name of another scheme, whose parameters it takes and does not heed.
    pub(crate) fn in_place_of(self: &Arc<Self>, other: &SchemeInfo, problem: &Arc<Problem>) -> SchemeInfo {
        let (scheme, problem) = (Arc::clone(self), Arc::clone(problem));
        let build = move |_: &control::Arguments, context: &Context| -> Box<dyn Controller> {
            let values = scheme.parameters.iter().map(|(name, default)| (&**name, *default));
            Box::new(PythonController::new(&scheme, values, context, Arc::clone(&problem)))
        };
        let mut info = SchemeInfo::new(other.name.clone(), self.summary.clone(), "written in Python", build);
        info.parameters.clone_from(&other.parameters);
        info.presets.clone_from(&other.presets);
        info
    }
}

/// Drivers for schemes written in Python. A run keeps a thread state of Python, without Python's lock, from its beginning to
/// its end: otherwise each event would make one and free it, which takes three times as long as the event itself.
pub(crate) struct WithPython<'a>(pub(crate) &'a dyn Driver);

impl Driver for WithPython<'_> {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.0.resolve(scenario)
    }

    fn run(&self, scenario: &Resolved) -> Result<Record, RunError> {
        self.run_watched(scenario, &())
    }

    fn run_watched(&self, scenario: &Resolved, watch: &dyn Watch) -> Result<Record, RunError> {
        Python::attach(|py| py.detach(|| self.0.run_watched(scenario, watch)))
    }

    fn is_real_time(&self, scenario: &Scenario) -> bool {
        self.0.is_real_time(scenario)
    }

    fn expected_time(&self, scenario: &Scenario) -> Span {
        self.0.expected_time(scenario)
    }
}

/// One flow's instance of the class. Once it has raised, it is asked no more, and its limits stay.
struct PythonController {
    instance: Option<Py<PyAny>>,
    problem: Arc<Problem>,
    limits: Limits,
    timer: Option<Time>,
}

impl PythonController {
    fn new<'a>(
        scheme: &PythonScheme,
        values: impl Iterator<Item = (&'a str, f64)>,
        context: &Context,
        problem: Arc<Problem>,
    ) -> Self {
        let limits = Limits::window_only(context.initial_window);
        let mut controller = Self { instance: None, problem, limits, timer: None };
        let built = Python::attach(|py| {
            let arguments = PyDict::new(py);
            for (name, value) in values {
                arguments.set_item(name, value)?;
            }
            let context = (context.packet.get(), context.initial_window.get(), context.seed);
            scheme.build.call(py, (context,), Some(&arguments))
        });
        match built {
            Ok(instance) => {
                controller.instance = Some(instance);
                controller.ask(|_| Ok(()));
            }
            Err(error) => controller.problem.tell(error),
        }
        controller
    }

    /// Tells the instance an event, and asks for its limits and its timer.
    fn ask(&mut self, tell: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let Some(instance) = &self.instance else { return };
        let asked = Python::attach(|py| {
            let instance = instance.bind(py);
            tell(instance)?;
            let limits = limits_of(&instance.call_method0("limits")?)?;
            let timer = instance.call_method0("next_timer")?.extract::<Option<f64>>()?;
            Ok((limits, timer.map(time_of).transpose()?))
        });
        match asked {
            Ok((limits, timer)) => (self.limits, self.timer) = (limits, timer),
            Err(error) => {
                self.problem.tell(error);
                (self.instance, self.timer) = (None, None);
            }
        }
    }
}

impl Controller for PythonController {
    fn on_ack(&mut self, ack: &control::Ack<'_>) {
        let ack = Ack::new(ack);
        self.ask(|instance| instance.call_method1("on_ack", (ack,)).map(drop));
    }

    fn on_loss(&mut self, loss: &control::Loss<'_>) {
        let loss = Loss::new(loss);
        self.ask(|instance| instance.call_method1("on_loss", (loss,)).map(drop));
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    fn on_timer(&mut self, now: Time) {
        // A timer that it does not set again is over.
        self.timer = None;
        self.ask(|instance| instance.call_method1("on_timer", (now.as_secs_f64(),)).map(drop));
        self.timer = self.timer.filter(|timer| *timer > now);
    }

    fn limits(&self) -> Limits {
        self.limits
    }
}

/// `(window_bytes, pacing_mbit_s or None)`.
fn limits_of(answer: &Bound<'_, PyAny>) -> PyResult<Limits> {
    let is_amount = |value: f64| value.is_finite() && value >= 0.0;
    let given = answer.extract::<(f64, Option<f64>)>().ok().filter(|(window, pacing)| {
        is_amount(*window) && pacing.is_none_or(|pacing| is_amount(pacing) && pacing > 0.0)
    });
    let Some((window, pacing)) = given else {
        return Err(PyValueError::new_err(format!(
            "limits() gave {}; it gives Limits(window_bytes, pacing_mbit_s): a window of at least 0, and a rate above 0 or None",
            answer.repr()?
        )));
    };
    let window = Bytes::new(window as u64);
    Ok(match pacing {
        None => Limits::window_only(window),
        Some(rate) => Limits::paced(window, Rate::from_bytes_per_sec((rate * 125_000.0) as u64), Bytes::ZERO),
    })
}

fn time_of(seconds: f64) -> PyResult<Time> {
    if seconds.is_finite() && seconds >= 0.0 {
        Ok(Time::ZERO + Span::from_secs_f64(seconds))
    } else {
        Err(PyValueError::new_err(format!("next_timer() gave {seconds}; a time is at least 0 s")))
    }
}

/// Packets were newly acknowledged.
#[pyclass(frozen, get_all, module = "cellcc")]
pub(crate) struct Ack {
    now_s: f64,
    packets: usize,
    bytes: u64,
    rtt_s: Option<f64>,
    min_rtt_s: f64,
    srtt_s: f64,
    delivery_rate_mbit_s: Option<f64>,
    inflight_bytes: u64,
    delivered_bytes: u64,
    marked_bytes: u64,
    window_limited: bool,
    round: u64,
    round_start: bool,
    in_recovery: bool,
    packet_bytes: u64,
}

impl Ack {
    fn new(ack: &control::Ack<'_>) -> Self {
        Self {
            now_s: ack.now.as_secs_f64(),
            packets: ack.packets.len(),
            bytes: ack.bytes.get(),
            rtt_s: ack.rtt_sample.map(Span::as_secs_f64),
            min_rtt_s: ack.rtt.min().as_secs_f64(),
            srtt_s: ack.rtt.smoothed().as_secs_f64(),
            delivery_rate_mbit_s: ack.rate.map(|sample| sample.rate(Sampler::Min).as_mbit_per_sec()),
            inflight_bytes: ack.inflight.get(),
            delivered_bytes: ack.delivered.get(),
            marked_bytes: ack.ecn.map_or(0, |echo| echo.ce.get()),
            window_limited: ack.cwnd_limited,
            round: ack.round,
            round_start: ack.round_start,
            in_recovery: ack.in_recovery,
            packet_bytes: ack.packet_size.get(),
        }
    }
}

/// Packets were declared lost.
#[pyclass(frozen, get_all, module = "cellcc")]
pub(crate) struct Loss {
    now_s: f64,
    packets: usize,
    bytes: u64,
    lost_bytes: u64,
    inflight_bytes: u64,
    new_episode: bool,
    persistent: bool,
    packet_bytes: u64,
}

impl Loss {
    fn new(loss: &control::Loss<'_>) -> Self {
        Self {
            now_s: loss.now.as_secs_f64(),
            packets: loss.packets.len(),
            bytes: loss.bytes.get(),
            lost_bytes: loss.lost.get(),
            inflight_bytes: loss.inflight.get(),
            new_episode: loss.new_episode,
            persistent: loss.persistent,
            packet_bytes: loss.packet_size.get(),
        }
    }
}

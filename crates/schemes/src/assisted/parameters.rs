//! The parameters that several assisted schemes have.

use super::fairness::{Fairness, fairness};
use crate::in_kernel::{KernelCore, MapSettings};
use crate::kernel_view::{q16, real};
use crate::loss_based;
use cellcc_control::{
    AdviceRequest, AdviceRoute, Arguments, Assignment, Parameter, ParameterInfo, ReportSource, kind,
};
use cellcc_fixed::assisted::{
    Config,
    step::{AssistedSettings, AssistedStep},
};
use cellcc_units::{Ratio, Span};

/// The window in bandwidth-delay products.
const ALPHA: Parameter<kind::Number> = Parameter::new(
    "alpha",
    kind::Number(0.1, 100.0),
    2.0,
    "windows of this many bandwidth-delay products",
    "paper, section 2.2.2",
);

/// The pacing rate in bandwidths.
const PACING_GAIN: Parameter<kind::Number> = Parameter::new(
    "pacing-gain",
    kind::Number(0.1, 10.0),
    1.0,
    "paces at this share of the bandwidth; below 1 queues drain",
    "paper, section 2.2.2; below 1: prototypes measured less delay at 0.95",
);

/// The bandwidth at which a flow is paced.
const PACE: Parameter<kind::Choice<Pace>> = Parameter::new(
    "pace",
    kind::Choice(&[("bandwidth", Pace::Bandwidth), ("share", Pace::Share)]),
    Pace::Bandwidth,
    "paces each flow at the user's whole bandwidth, or at its share of it",
    "paper, section 2.2.2: only the window is divided",
);

pub(super) const BURST: Parameter<kind::Time> = Parameter::new(
    "burst",
    kind::Time(Span::ZERO, Span::from_secs(1)),
    Span::from_millis(1),
    "largest burst, in time at the pacing rate; a larger one catches up after the window has held packets back",
    "Linux, sk_pacing_shift of 10: about 1 ms",
);

/// Periods without advice until the base goes on alone.
pub(super) const TIMEOUT: Parameter<kind::Number> = Parameter::new(
    "timeout",
    kind::Number(1.0, 1000.0),
    6.0,
    "periods without advice until the base scheme goes on alone",
    "ours: five reports lost in a row are outlasted; the paper has no value",
);

pub(super) const GUARD: Parameter<kind::Switch> = Parameter::new(
    "guard",
    kind::Switch,
    true,
    "leaves advice that the sender's own measurements refute",
    "ours; paper, section 5 leaves it open",
);

/// The core's configuration.
pub(super) fn config(arguments: &Arguments) -> Config {
    Config {
        alpha: q16(arguments.get(&ALPHA)),
        pacing_gain: q16(arguments.get(&PACING_GAIN)),
        timeout_periods: q16(arguments.get(&TIMEOUT)),
        paces_at_share: arguments.get(&PACE) == Pace::Share,
    }
}

impl MapSettings for AssistedSettings {
    fn set(arguments: &Arguments) -> Option<Self> {
        Some(config(arguments).into())
    }

    fn arguments(&self) -> Vec<Assignment> {
        let config = self.config();
        let pace = if config.paces_at_share { Pace::Share } else { Pace::Bandwidth };
        vec![
            ALPHA.with(&real(config.alpha)),
            PACING_GAIN.with(&real(config.pacing_gain)),
            PACE.with(&pace),
            TIMEOUT.with(&real(config.timeout_periods)),
        ]
    }
}

/// The common core of all of them in the kernel.
pub(super) const CORE: KernelCore = KernelCore::of::<AssistedStep, AssistedSettings>(2, "assisted");

/// The parameters of all assisted schemes with their own window.
pub(super) fn common(default_fairness: Fairness) -> Vec<ParameterInfo> {
    vec![
        SOURCE.into(),
        PERIOD.into(),
        ROUTE.into(),
        DELAY.into(),
        LOSS.into(),
        fairness(default_fairness).into(),
        ALPHA.into(),
        PACING_GAIN.into(),
        PACE.into(),
        BURST.into(),
        TIMEOUT.into(),
        GUARD.into(),
    ]
}

/// A scheme that advice stands in for.
pub(super) fn fallback() -> Parameter<kind::Scheme> {
    scheme("fallback", "the scheme that goes on alone without advice", "paper, section 2.4: normal TCP")
}

/// A scheme that advice bounds.
pub(super) fn base() -> Parameter<kind::Scheme> {
    scheme(
        "base",
        "the scheme under the cap, and alone without advice",
        "paper, section 2.2.2: CUBIC, without loss of generality",
    )
}

fn scheme(name: &'static str, meaning: &'static str, source: &'static str) -> Parameter<kind::Scheme> {
    Parameter::new(name, kind::Scheme, loss_based::inner_cubic(), meaning, source)
}

/// The rate that a flow is paced at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// The user's.
    Bandwidth,
    /// Its share of the user's.
    Share,
}

// The request of assisted schemes to the network: the parameters that all of them have.

pub(super) const SOURCE: Parameter<kind::Choice<ReportSource>> = Parameter::new(
    "source",
    kind::Choice(&[("causal", ReportSource::Causal), ("oracle", ReportSource::Oracle)]),
    ReportSource::Causal,
    "bandwidth of the past period, as a network can know it, or of the coming one; given: instead of the Scenario's",
    "paper, section 2.2.1; oracle: the authors' feedback files",
);

pub(super) const PERIOD: Parameter<kind::Time> = Parameter::new(
    "period",
    kind::Time(Span::from_millis(1), Span::from_secs(60)),
    Span::from_millis(50),
    "time between reports, each about as much time; given: instead of the Scenario's",
    "paper, section 2.2.1",
);

pub(super) const ROUTE: Parameter<kind::Choice<AdviceRoute>> = Parameter::new(
    "route",
    kind::Choice(&[("out-of-band", AdviceRoute::OutOfBand), ("in-band", AdviceRoute::InBand)]),
    AdviceRoute::OutOfBand,
    "reports in messages of their own, or on the ACKs; given: instead of the Scenario's",
    "paper, section 2.3",
);

pub(super) const DELAY: Parameter<kind::Time> = Parameter::new(
    "delay",
    kind::Time(Span::ZERO, Span::from_secs(10)),
    Span::from_millis(1),
    "from the network's edge to the server, out of band; given: instead of the Scenario's",
    "paper, section 3: an RTT of 2 ms",
);

pub(super) const LOSS: Parameter<kind::Share> = Parameter::new(
    "loss",
    kind::Share,
    Ratio::ZERO,
    "share of the reports that are lost; given: instead of the Scenario's",
    "paper, section 3",
);

/// The request of the arguments; missing ones are left to the Scenario.
pub(super) fn request(arguments: &Arguments) -> AdviceRequest {
    let mut request = AdviceRequest::default();
    request.source = arguments.given(&SOURCE);
    request.period = arguments.given(&PERIOD);
    request.route = arguments.given(&ROUTE);
    request.delay = arguments.given(&DELAY);
    request.loss = arguments.given(&LOSS);
    request
}

#[cfg(test)]
mod tests {
    use cellcc_control::{AdviceRequest, ReportSource};
    use cellcc_units::{Ratio, Span};

    #[test]
    fn only_what_is_given_is_asked_for() {
        let request = |text| crate::registry().parse(text).expect("known").advice_request();
        assert_eq!(request("natcp"), Some(AdviceRequest::default()));
        let mut expected = AdviceRequest::default();
        expected.source = Some(ReportSource::Oracle);
        expected.period = Some(Span::from_millis(10));
        expected.loss = Some(Ratio::new(0.1));
        assert_eq!(request("natcp(source=oracle,period=10ms,loss=10%)"), Some(expected));
        assert_eq!(request("cubic"), None);
    }
}

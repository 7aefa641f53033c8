//! What assisted schemes ask of the network: the parameters that all of them have.

use cellcc_assist::{AdviceRequest, AdviceRoute, ReportSource};
use cellcc_control::{Arguments, Parameter, kind};
use cellcc_units::{Ratio, Span};

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

/// What the arguments ask for; what was not given is left to the Scenario.
pub(super) fn request(arguments: &Arguments) -> AdviceRequest {
    AdviceRequest {
        source: arguments.given(&SOURCE),
        period: arguments.given(&PERIOD),
        route: arguments.given(&ROUTE),
        delay: arguments.given(&DELAY),
        loss: arguments.given(&LOSS),
    }
}

#[cfg(test)]
mod tests {
    use cellcc_control::{AdviceRequest, ReportSource};
    use cellcc_units::{Ratio, Span};

    #[test]
    fn only_what_is_given_is_asked_for() {
        let request = |text| crate::registry().parse(text).expect("known").advice_request();
        assert_eq!(request("natcp"), Some(AdviceRequest::default()));
        assert_eq!(
            request("natcp(source=oracle,period=10ms,loss=10%)"),
            Some(AdviceRequest {
                source: Some(ReportSource::Oracle),
                period: Some(Span::from_millis(10)),
                loss: Some(Ratio::new(0.1)),
                ..AdviceRequest::default()
            })
        );
        assert_eq!(request("cubic"), None);
    }
}

//! What assisted schemes ask of the network: the parameters that all of them have.

use crate::parameter::{Arguments, Kind, Parameter};
use cellcc_assist::{AdviceRequest, AdviceRoute, BandwidthSource};
use cellcc_units::Span;

pub(super) const SOURCE: Parameter = Parameter {
    name: "source",
    kind: Kind::Choice(&["causal", "oracle"]),
    default: "causal",
    meaning: "bandwidth of the past period, as a network can know it, or of the coming one; given: instead of the Scenario's",
    source: "paper, section 2.2.1; oracle: the authors' feedback files",
};

pub(super) const PERIOD: Parameter = Parameter {
    name: "period",
    kind: Kind::Time(Span::from_millis(1), Span::from_secs(60)),
    default: "50ms",
    meaning: "time between reports, each about as much time; given: instead of the Scenario's",
    source: "paper, section 2.2.1",
};

pub(super) const ROUTE: Parameter = Parameter {
    name: "route",
    kind: Kind::Choice(&["out-of-band", "in-band"]),
    default: "out-of-band",
    meaning: "reports in messages of their own, or on the ACKs; given: instead of the Scenario's",
    source: "paper, section 2.3",
};

pub(super) const DELAY: Parameter = Parameter {
    name: "delay",
    kind: Kind::Time(Span::ZERO, Span::from_secs(10)),
    default: "1ms",
    meaning: "from the network's edge to the server, out of band; given: instead of the Scenario's",
    source: "paper, section 3: an RTT of 2 ms",
};

pub(super) const LOSS: Parameter = Parameter {
    name: "loss",
    kind: Kind::Share,
    default: "0%",
    meaning: "share of the reports that are lost; given: instead of the Scenario's",
    source: "paper, section 3",
};

/// What the arguments ask for; what was not given is left to the Scenario.
pub(super) fn request(arguments: &Arguments) -> AdviceRequest {
    let given = |parameter: &Parameter| arguments.is_given(parameter.name);
    AdviceRequest {
        source: given(&SOURCE).then(|| match arguments.choice(SOURCE.name) {
            "oracle" => BandwidthSource::Oracle,
            _ => BandwidthSource::Causal,
        }),
        period: given(&PERIOD).then(|| arguments.time(PERIOD.name)),
        route: given(&ROUTE).then(|| match arguments.choice(ROUTE.name) {
            "in-band" => AdviceRoute::InBand,
            _ => AdviceRoute::OutOfBand,
        }),
        delay: given(&DELAY).then(|| arguments.time(DELAY.name)),
        loss: given(&LOSS).then(|| arguments.share(LOSS.name)),
    }
}

#[cfg(test)]
mod tests {
    use crate::{AdviceRequest, BandwidthSource, Registry};
    use cellcc_units::{Ratio, Span};

    #[test]
    fn only_what_is_given_is_asked_for() {
        let request = |text| Registry::default().parse(text).expect("known").advice_request();
        assert_eq!(request("natcp"), Some(AdviceRequest::default()));
        assert_eq!(
            request("natcp(source=oracle,period=10ms,loss=10%)"),
            Some(AdviceRequest {
                source: Some(BandwidthSource::Oracle),
                period: Some(Span::from_millis(10)),
                loss: Some(Ratio::new(0.1)),
                ..AdviceRequest::default()
            })
        );
        assert_eq!(request("cubic"), None);
    }
}

//! The address of a service or of its broker.

use crate::exit::Exit;
use crate::network::url::Url;
use cellcc_netassist_client::{BrokerUrl, ServiceAddress};
use std::fmt;
use std::str::FromStr;

/// `quic://HOST:PORT`, `tls://HOST:PORT` or `nats://HOST:PORT`.
#[derive(Debug, Clone)]
pub(crate) enum ServiceUrl {
    Service(Url),
    Broker(BrokerUrl),
}

impl ServiceUrl {
    /// Where that is. A broker is looked up with each connection.
    pub(crate) fn address(&self) -> Result<ServiceAddress, Exit> {
        Ok(match self {
            Self::Service(url) => ServiceAddress::Quic(url.resolve()?),
            Self::Broker(url) => ServiceAddress::Nats(url.clone()),
        })
    }
}

impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(url) => url.fmt(f),
            Self::Broker(url) => url.fmt(f),
        }
    }
}

impl FromStr for ServiceUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if BrokerUrl::is_one(text) {
            return text
                .parse()
                .map(Self::Broker)
                .map_err(|error: cellcc_netassist_client::BrokerUrlError| error.to_string());
        }
        text.parse().map(Self::Service).map_err(|error| format!("{error}; a NATS broker is tls://HOST:PORT"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_url_tells_a_broker_from_a_service() {
        assert!(matches!("tls://broker:4222".parse(), Ok(ServiceUrl::Broker(_))));
        assert!(matches!("nats://broker".parse(), Ok(ServiceUrl::Broker(_))));
        assert!(matches!("quic://edge:4443".parse(), Ok(ServiceUrl::Service(_))));
        assert!(matches!("edge".parse(), Ok(ServiceUrl::Service(_))));
        for wrong in ["http://broker", "tls://"] {
            let error = wrong.parse::<ServiceUrl>().unwrap_err();
            assert!(error.contains("tls://HOST:PORT"), "{wrong}: {error}");
        }
    }
}

//! The address of a server.

use crate::exit::Exit;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// Where the server is, and a path there.
#[derive(Debug, Clone)]
pub(crate) struct Url {
    pub(crate) host: String,
    port: u16,
    /// Without the `/` at its beginning.
    pub(crate) path: String,
}

/// The port of `cellcc serve`.
const DEFAULT_PORT: u16 = 4433;

impl Url {
    /// The first address that the name has.
    pub(crate) fn resolve(&self) -> Result<SocketAddr, Exit> {
        let unknown = |why: String| Exit::input(format!("{}:{}: {why}", self.host, self.port));
        (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(|error| unknown(error.to_string()))?
            .next()
            .ok_or_else(|| unknown("the name has no address".into()))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, .. } = self;
        if host.contains(':') {
            write!(f, "quic://[{host}]:{port}")
        } else {
            write!(f, "quic://{host}:{port}")
        }
    }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no address of a server; write quic://HOST:PORT or quic://HOST:PORT/PATH");
        let rest = text.strip_prefix("quic://").unwrap_or(text);
        if rest.contains("://") {
            return Err(wrong());
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let (host, port) = v6.split_once(']').ok_or_else(wrong)?;
                (host, port.strip_prefix(':'))
            }
            None => match authority.split_once(':') {
                Some((_, port)) if port.contains(':') => {
                    return Err(format!(
                        "`{text}`: write an IPv6 address in brackets: quic://[2001:db8::1]:4433"
                    ));
                }
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = port.map_or(Ok(DEFAULT_PORT), |port| port.parse().map_err(|_| wrong()))?;
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(Self { host: host.into(), port, path: path.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_a_port_and_a_path() {
        let url: Url = "quic://[::1]:5000/a/b".parse().unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), ("::1", 5000, "a/b"));
        let url: Url = "server".parse().unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), ("server", DEFAULT_PORT, ""));
        for wrong in
            ["http://server", "quic://", "quic://server:0", "quic://server:port", "::1", "quic://[::1"]
        {
            assert!(wrong.parse::<Url>().is_err(), "{wrong}");
        }
    }
}

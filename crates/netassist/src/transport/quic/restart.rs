//! How clients hear at once that the service has crashed and was started again: it answers packets of connections that it does not
//! know with stateless resets (RFC 9000, section 10.3). A client believes the token that it was given before the crash, so that
//! tokens, and the connection identifiers that they belong to, are made from the service's private key.

use cellcc_netassist_client::Credentials;
use noq::EndpointConfig;
use noq_proto::HashedConnectionIdGenerator;
use ring::hmac::{HMAC_SHA256, Key, sign};
use std::sync::Arc;

/// An endpoint that is known again after a restart with the same credentials.
pub(super) fn endpoint_config(credentials: &Credentials) -> EndpointConfig {
    let secret = Key::new(HMAC_SHA256, credentials.key().secret_der());
    let reset_key = Key::new(HMAC_SHA256, sign(&secret, b"cellcc netassist stateless reset").as_ref());
    let identifiers = sign(&secret, b"cellcc netassist connection identifiers");
    let identifiers = identifiers.as_ref().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mut config = EndpointConfig::new(Arc::new(reset_key));
    config.cid_generator(Arc::new(move || Box::new(HashedConnectionIdGenerator::from_key(identifiers))));
    config
}

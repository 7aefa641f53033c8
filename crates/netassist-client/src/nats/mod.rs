//! NATS between services and clients: a broker passes records on, and its permissions decide which client receives them.
//!
//! | subject | who publishes | content |
//! |---|---|---|
//! | `na.v1.SITE.CELL.KEY` | the service of a site | one record of 64 bytes |
//! | `na.ask.v1.ROLE.NAME` | the client of this name | a request in JSON |
//! | `na.answer.v1.ROLE.NAME.SESSION` | services | an answer in JSON |

mod broker;
mod client;
mod connection;
pub mod subject;
mod wire;

pub(crate) use client::Dialler;

pub use broker::{BrokerUrl, BrokerUrlError};
pub use connection::{BrokerEvent, Client, Connection};
pub use subject::{CellName, NotAToken, SubjectToken};
pub use wire::Message;

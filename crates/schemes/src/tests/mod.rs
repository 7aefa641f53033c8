//! Tests of common parts: growth laws, the registry, event logs.

mod cubic;
mod event_log;
mod hystart;
mod new_reno;
mod registry;

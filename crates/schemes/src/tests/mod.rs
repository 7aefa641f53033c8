//! What the schemes' own files do not test: growth laws, the registry, event logs.

mod cubic;
mod event_log;
mod hystart;
mod new_reno;
mod registry;

//! What the schemes' own files do not test: growth laws, the registry, recorded conversations.

mod conversation;
mod cubic;
mod hystart;
mod new_reno;
mod registry;

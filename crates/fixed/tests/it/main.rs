//! The cores, each by itself.

mod any_input;
mod assisted;
mod c2tcp;
mod reminis;
mod tables;
mod vegas;
mod westwood;

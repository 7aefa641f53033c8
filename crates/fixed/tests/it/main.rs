//! The cores, each by itself.

mod any_input;
mod assisted;
mod c2tcp;
mod reminis;
mod roccet;
mod tables;
mod tide;
mod vegas;
mod westwood;

//! Schemes in the simulator, against theory and as tables of numbers.

mod acknowledgements;
mod bbr;
mod beginning;
mod common;
mod l4s;
mod limit;
mod marks;
mod media;
mod network_assistance;
mod queues;
mod record;
mod reminis_theory;
mod sprout;
mod stepping;
mod survival;
mod textbook;
mod unbounded;
mod wrong_feedback;

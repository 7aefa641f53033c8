//! Schemes in the simulator, against theory and as tables of numbers.

mod acknowledgements;
mod bbr;
mod buffers;
mod common;
mod l4s;
mod limit;
mod loss_detection;
mod marks;
mod media;
mod network_assistance;
mod offset;
mod queues;
mod record;
mod reminis_theory;
mod short_paths;
mod sprout;
mod stepping;
mod survival;
mod textbook;
mod unbounded;
mod warm_up;
mod wrong_feedback;

//! Links of files: the detection and reading of traces; and the radio: findings from recordings, and the model against them.

mod generated;
mod model;
mod radio;
mod texture;
mod trace_forms;
mod traces;

//! Links of files: the detection and reading of traces, and their textures.

mod foreign_programs;
mod texture;
mod trace_forms;
mod traces;

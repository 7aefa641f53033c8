//! Links of files: which files are traces, and what is made of them; and the radio: what recordings say of it, and the model against them.

mod generated;
mod model;
mod radio;
mod texture;
mod traces;

//! Links of files: which files are traces, and what is made of them; what recordings say of a radio.

mod generated;
mod radio;
mod texture;
mod traces;

//! Links of files: which files are traces, and what is made of them.

mod texture;
mod traces;

//! Links of files: which files are traces, and what is made of them; and the radio against recordings.

mod grants_and_pings;
mod texture;
mod traces;

//! Links of files: which files are traces, and what is made of them; the radio against recordings, and what recordings say of a radio.

mod generated;
mod grants_and_pings;
mod radio;
mod texture;
mod traces;

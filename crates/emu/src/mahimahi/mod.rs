//! The command lines of Mahimahi's shells.

//! One end of the emulated path in a network namespace.

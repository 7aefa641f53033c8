//! The driver for the kernel's own TCP: a Scenario in real time.

//! The congestion control schemes that come with cellcc, each in one file or folder, and the [`registry`] of them.
//!
//! Each has a function `scheme()`: its entry in the registry, with its name, its parameters and how to build it. A program with a
//! scheme of its own needs `cellcc_control` and `cellcc_units` instead.
//!
//! A scheme that also runs in the kernel's TCP has one more entry, in `IN_KERNEL`.

use cellcc_control::Registry;
use in_kernel::InKernel;

mod abba;
mod abc;
mod assisted;
mod bbr;
mod bbr2;
mod bbr3;
mod c2tcp;
mod copa;
mod fixed_rate;
mod fixed_window;
mod gcc;
mod held_against;
#[doc(hidden)]
pub mod in_kernel;
mod kernel_view;
#[doc(hidden)]
pub mod learned;
mod loss_based;
mod prague;
mod rbbr;
mod reminis;
mod roccet;
mod scream;
mod sent_history;
mod sprout;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tide;
mod vegas;
mod verus;
mod vivace;
mod westwood;

// Internal, exact version: for drivers of cellcc and their tests, as the hidden modules are.
#[doc(hidden)]
pub use rbbr::{Estimation, RateFeedback, RateSignal};

/// The schemes that come with cellcc, in the order in which they are listed. Those of `learned`, which need a file each, are
/// registered by a program whose user may name files.
pub fn registry() -> Registry {
    let schemes = [
        reminis::scheme(),
        rbbr::scheme(),
        assisted::natcp(),
        assisted::nacubic(),
        assisted::nacap(),
        assisted::tg(),
        assisted::nabbr(),
        verus::scheme(),
        loss_based::cubic(),
        loss_based::newreno(),
        bbr::scheme(),
        bbr2::scheme(),
        bbr3::scheme(),
        vegas::scheme(),
        westwood::scheme(),
        copa::scheme(),
        c2tcp::scheme(),
        roccet::scheme(),
        abba::scheme(),
        vivace::scheme(),
        abc::scheme(),
        sprout::scheme(),
        prague::scheme(),
        scream::scheme(),
        gcc::scheme(),
        tide::scheme(),
        fixed_window::scheme(),
        fixed_rate::scheme(),
    ];
    Registry::new(schemes.map(held_against::with))
}

/// The schemes that also run in the kernel's TCP, in the order of lists.
#[doc(hidden)]
pub const IN_KERNEL: [InKernel; 10] = [
    reminis::IN_KERNEL,
    reminis::IN_KERNEL_OVER_CUBIC,
    assisted::NATCP_IN_KERNEL,
    assisted::NACUBIC_IN_KERNEL,
    assisted::NABBR_IN_KERNEL,
    vegas::IN_KERNEL,
    westwood::IN_KERNEL,
    c2tcp::IN_KERNEL,
    roccet::IN_KERNEL,
    tide::IN_KERNEL,
];

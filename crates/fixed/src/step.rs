//! Steps: calls of the integer cores by the kernel, as memory that C, Rust, BPF and the host lay out alike.
//!
//! A step holds all inputs of a decision (state, settings, event, window, random word), and after its run the decision.
//! So it can be recorded in the kernel and run again elsewhere.

use crate::draw::{Digest, Draw};

pub use crate::layout::{Layout, mirror};

/// A step of a core.
pub trait Step {
    /// The step before the first random one.
    const FIRST: Self;
    /// The layouts of its structs that C also declares.
    const LAYOUTS: &'static [Layout];

    /// Runs the core and writes the decision into the step.
    fn run(&mut self);

    /// Becomes the next random step, without its decision; now and then a new flow with other settings begins.
    fn draw(&mut self, draw: &mut Draw);

    /// Adds the decision to the digest.
    fn digest(&self, digest: &mut Digest);
}

/// Draws, runs and digests one random step.
#[inline(always)]
pub fn try_once<S: Step>(step: &mut S, draw: &mut Draw, digest: &mut Digest) {
    step.draw(draw);
    step.run();
    step.digest(digest);
}

/// Exports the functions of a core that C calls: `exports!(Step, State: NAME_start, NAME_run, NAME_begin, NAME_try)`.
/// It is a macro because C finds a function by its name alone, and a generic function has none.
macro_rules! exports {
    ($step:ty, $state:ty: $start:ident, $run:ident, $begin:ident, $try:ident) => {
        /// Begins a flow.
        #[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
        pub extern "C" fn $start(state: &mut $state) {
            *state = <$state>::START;
        }

        /// Runs a step of a flow.
        #[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
        pub extern "C" fn $run(step: &mut $step) {
            $crate::step::Step::run(step);
        }

        /// A sequence of random steps. C: `struct trial`. It is not generic, since the kernel takes no name with `<`.
        #[repr(C)]
        pub struct Trial {
            step: $step,
            draw: $crate::draw::Draw,
            digest: $crate::draw::Digest,
        }

        const _: () = assert!(size_of::<Trial>() <= 1024, "equality.bpf.c has no more");

        /// Begins the random steps of a seed.
        #[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
        pub extern "C" fn $begin(trial: &mut Trial, seed: u64) {
            trial.step = <$step as $crate::step::Step>::FIRST;
            trial.draw = $crate::draw::Draw(seed);
            trial.digest = $crate::draw::Digest(0);
        }

        /// Runs one random step.
        #[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
        pub extern "C" fn $try(trial: &mut Trial) {
            $crate::step::try_once(&mut trial.step, &mut trial.draw, &mut trial.digest);
        }
    };
}
pub(crate) use exports;

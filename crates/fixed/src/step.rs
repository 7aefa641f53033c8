//! Steps: what the kernel asks the integer cores, as memory that C, Rust, BPF and the host lay out alike.
//!
//! A step holds everything that a decision depends on (state, settings, event, window, random word), and the decision once it
//! has run. So it can be recorded in the kernel and run again elsewhere.

use crate::draw::{Digest, Draw};

pub use crate::layout::{Layout, mirror};

/// A step of a core.
pub trait Step {
    /// Before the first random step.
    const FIRST: Self;
    /// Those of its structs that C has as well.
    const LAYOUTS: &'static [Layout];

    /// Decides.
    fn run(&mut self);

    /// Becomes the random step that follows this one, before it is decided: now and then of a new flow with other settings.
    fn draw(&mut self, draw: &mut Draw);

    /// What was decided.
    fn digest(&self, digest: &mut Digest);
}

/// One random step.
#[inline(always)]
pub fn try_once<S: Step>(step: &mut S, draw: &mut Draw, digest: &mut Digest) {
    step.draw(draw);
    step.run();
    step.digest(digest);
}

/// The functions of a core that C calls: `exports!(Step, State: NAME_start, NAME_run, NAME_begin, NAME_try)`. A macro, since C finds a
/// function by its name alone: a generic one has none.
macro_rules! exports {
    ($step:ty, $state:ty: $start:ident, $run:ident, $begin:ident, $try:ident) => {
        /// A flow begins.
        #[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
        pub extern "C" fn $start(state: &mut $state) {
            *state = <$state>::START;
        }

        /// A flow goes on.
        #[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
        pub extern "C" fn $run(step: &mut $step) {
            $crate::step::Step::run(step);
        }

        /// Random steps, one after the other. C: `struct trial`. It is not generic, since the kernel takes no name with `<`.
        #[repr(C)]
        pub struct Trial {
            step: $step,
            draw: $crate::draw::Draw,
            digest: $crate::draw::Digest,
        }

        const _: () = assert!(size_of::<Trial>() <= 1024, "equality.bpf.c has no more");

        /// The random steps of a seed begin.
        #[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
        pub extern "C" fn $begin(trial: &mut Trial, seed: u64) {
            trial.step = <$step as $crate::step::Step>::FIRST;
            trial.draw = $crate::draw::Draw(seed);
            trial.digest = $crate::draw::Digest(0);
        }

        /// One random step.
        #[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
        pub extern "C" fn $try(trial: &mut Trial) {
            $crate::step::try_once(&mut trial.step, &mut trial.draw, &mut trial.digest);
        }
    };
}
pub(crate) use exports;

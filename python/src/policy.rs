//! The network of a learned scheme, called from Python: a check that a file gives the outputs of its program.

use crate::error::{InputError, input};
use cellcc_schemes::learned;
use pyo3::prelude::*;

/// The policy of a learned scheme such as `orca(model=FILE)`. A recurrent one remembers earlier observations.
#[pyclass(module = "cellcc")]
pub(crate) struct Policy(learned::Policy);

#[pymethods]
impl Policy {
    #[new]
    fn new(scheme: &str) -> PyResult<Self> {
        let parsed = cellcc_experiment::registry().parse(scheme).map_err(input)?;
        learned::Policy::of(&parsed).map(Self).ok_or_else(|| {
            InputError::new_err(format!("`{scheme}` has no network; name one such as learned(model=FILE)"))
        })
    }

    /// The network's outputs for an observation: an action, or a score for each.
    fn outputs(&mut self, observation: Vec<f32>) -> PyResult<Vec<f32>> {
        let width = self.0.width();
        if observation.len() != width {
            return Err(InputError::new_err(format!(
                "an observation of {width} numbers is wanted, not of {}",
                observation.len()
            )));
        }
        Ok(self.0.outputs(&observation).to_vec())
    }
}

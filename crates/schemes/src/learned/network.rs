//! A small network in single precision: dense layers, an LSTM, and the layers between them.
//!
//! The products are our own, with a fixed order of additions, so that every machine gives the same numbers; `exp` and `tanh` are
//! `libm`'s. Orca's 84,000 products take some 25 us, every 20 ms. Constant parts, such as the statistics of a batch norm,
//! become one factor and one term per number when the network is read.

/// Numbers from a file, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tensor {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f32>,
}

/// A step of a network, by the names of its tensors.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// `dense NAME`: `NAME.w` of inputs x outputs, `NAME.b`.
    Dense(String),
    /// `lstm NAME`: `NAME.w` of (inputs + units) x 4 units, `NAME.b`; the gates are input, new value, forget, output, and the
    /// forget gate has one added (TensorFlow's BasicLSTMCell).
    Lstm(String),
    /// `norm NAME EPSILON`: `NAME.mean` and `NAME.var`, and where they are, `NAME.gamma` and `NAME.beta`.
    Norm(String, f32),
    /// `leaky_relu SLOPE`, `relu`.
    LeakyRelu(f32),
    /// `tanh`.
    Tanh,
}

/// TensorFlow: BasicLSTMCell's `forget_bias`.
const FORGET_BIAS: f32 = 1.0;

/// A step of the network, as read.
#[derive(Debug)]
enum Layer {
    Dense { weights: Vec<f32>, bias: Vec<f32> },
    Lstm { weights: Vec<f32>, bias: Vec<f32> },
    Scale { factors: Vec<f32>, terms: Vec<f32> },
    LeakyRelu(f32),
    Tanh,
}

/// A network. Many flows may share one; each has its own [`Memory`].
#[derive(Debug)]
pub(super) struct Network {
    layers: Vec<Layer>,
    outputs: usize,
}

/// The memory of one flow's network, and room for its numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// Cells, then outputs, of each LSTM.
    cells: Vec<(Vec<f32>, Vec<f32>)>,
    values: Vec<f32>,
    next: Vec<f32>,
}

impl Network {
    /// The network of `steps` over so many inputs, with the tensors that `find` gives.
    ///
    /// # Errors A tensor that is missing, does not fit, or holds a number that is not finite.
    pub(super) fn new(
        steps: &[Step],
        inputs: usize,
        find: &impl Fn(&str) -> Result<Option<Tensor>, String>,
    ) -> Result<Self, String> {
        let mut width = inputs;
        let mut layers = Vec::new();
        for step in steps {
            let (layer, outputs) = layer(step, width, find)?;
            layers.push(layer);
            width = outputs;
        }
        Ok(Self { layers, outputs: width })
    }

    /// Number of outputs.
    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// The output for `input`; `memory` is a flow's own, empty at first.
    pub(super) fn forward<'a>(&self, memory: &'a mut Memory, input: &[f32]) -> &'a [f32] {
        let Memory { cells, values, next } = memory;
        values.clear();
        values.extend_from_slice(input);
        let mut lstms = 0;
        for layer in &self.layers {
            match layer {
                Layer::Dense { weights, bias } => {
                    next.clone_from(bias);
                    add_product(next, values, weights);
                    std::mem::swap(values, next);
                }
                Layer::Lstm { weights, bias } => {
                    let units = bias.len() / 4;
                    if cells.len() == lstms {
                        cells.push((vec![0.0; units], vec![0.0; units]));
                    }
                    let (cell, output) = &mut cells[lstms];
                    lstms += 1;
                    values.extend_from_slice(output);
                    next.clone_from(bias);
                    add_product(next, values, weights);
                    turn(next, cell, output);
                    values.clone_from(output);
                }
                Layer::Scale { factors, terms } => {
                    for ((value, factor), term) in values.iter_mut().zip(factors).zip(terms) {
                        *value = *value * factor + term;
                    }
                }
                Layer::LeakyRelu(slope) => {
                    values.iter_mut().filter(|value| **value < 0.0).for_each(|value| *value *= slope);
                }
                Layer::Tanh => values.iter_mut().for_each(|value| *value = libm::tanhf(*value)),
            }
        }
        values
    }
}

/// Adds `input` x `weights`, of as many columns as there are sums.
fn add_product(sums: &mut [f32], input: &[f32], weights: &[f32]) {
    for (value, row) in input.iter().zip(weights.chunks_exact(sums.len())) {
        for (sum, weight) in sums.iter_mut().zip(row) {
            *sum += value * weight;
        }
    }
}

/// An LSTM's gates, one after the other, turn its cells and give its outputs.
fn turn(gates: &[f32], cell: &mut [f32], output: &mut [f32]) {
    let units = cell.len();
    for unit in 0..units {
        let [input, new, forget, out] = [0, 1, 2, 3].map(|gate| gates[gate * units + unit]);
        let kept = cell[unit] * sigmoid(forget + FORGET_BIAS);
        cell[unit] = kept + sigmoid(input) * libm::tanhf(new);
        output[unit] = libm::tanhf(cell[unit]) * sigmoid(out);
    }
}

fn sigmoid(value: f32) -> f32 {
    1.0 / (1.0 + libm::expf(-value))
}

/// The layer of a step over so many numbers, and how many it gives.
fn layer(
    step: &Step,
    inputs: usize,
    find: &impl Fn(&str) -> Result<Option<Tensor>, String>,
) -> Result<(Layer, usize), String> {
    let optional = |name: &str, fits: &dyn Fn(&[usize]) -> bool, wanted: &str| match find(name)? {
        Some(tensor) if !fits(&tensor.shape) => {
            Err(format!("its tensor `{name}` has the shape {:?}, and {wanted} is wanted", tensor.shape))
        }
        Some(tensor) if tensor.values.iter().any(|value| !value.is_finite()) => {
            Err(format!("its tensor `{name}` holds a number that is not finite"))
        }
        found => Ok(found.map(|tensor| tensor.values)),
    };
    let required = |name: &str, fits: &dyn Fn(&[usize]) -> bool, wanted: &str| {
        optional(name, fits, wanted)?
            .ok_or_else(|| format!("it has no tensor `{name}`, which its layers name"))
    };
    Ok(match step {
        Step::Dense(name) => {
            let bias =
                required(&format!("{name}.b"), &|shape| matches!(shape, [count] if *count > 0), "[outputs]")?;
            let outputs = bias.len();
            let wanted = [inputs, outputs];
            let weights = required(&format!("{name}.w"), &|shape| shape == wanted, &format!("{wanted:?}"))?;
            (Layer::Dense { weights, bias }, outputs)
        }
        Step::Lstm(name) => {
            let is_gates =
                |shape: &[usize]| matches!(shape, [count] if *count > 0 && count.is_multiple_of(4));
            let bias = required(&format!("{name}.b"), &is_gates, "[4 x units]")?;
            let units = bias.len() / 4;
            let wanted = [inputs + units, bias.len()];
            let weights = required(&format!("{name}.w"), &|shape| shape == wanted, &format!("{wanted:?}"))?;
            (Layer::Lstm { weights, bias }, units)
        }
        Step::Norm(name, epsilon) => {
            let fits = |shape: &[usize]| shape == [inputs];
            let wanted = format!("[{inputs}]");
            let mean = required(&format!("{name}.mean"), &fits, &wanted)?;
            let variance = required(&format!("{name}.var"), &fits, &wanted)?;
            let gamma = optional(&format!("{name}.gamma"), &fits, &wanted)?;
            let beta = optional(&format!("{name}.beta"), &fits, &wanted)?;
            if variance.iter().any(|variance| variance + epsilon <= 0.0) {
                return Err(format!("its tensor `{name}.var` holds a variance that is not above zero"));
            }
            let gamma = gamma.unwrap_or_else(|| vec![1.0; inputs]);
            let beta = beta.unwrap_or_else(|| vec![0.0; inputs]);
            let factors: Vec<f32> = gamma
                .iter()
                .zip(&variance)
                .map(|(gamma, variance)| gamma / (variance + epsilon).sqrt())
                .collect();
            let terms =
                beta.iter().zip(&mean).zip(&factors).map(|((beta, mean), factor)| beta - mean * factor);
            (Layer::Scale { terms: terms.collect(), factors }, inputs)
        }
        Step::LeakyRelu(slope) => (Layer::LeakyRelu(*slope), inputs),
        Step::Tanh => (Layer::Tanh, inputs),
    })
}

//! Bounds of one text in every language that is read here: expressions, mixes of flows, alternatives in braces, keys with
//! dots, values within values. Readers call themselves for each level of a text, and work for each of its terms.

/// Numbers and functions of an expression, flows of a run, alternatives: more of one text are a slip of the keyboard.
pub const MOST_TERMS: usize = 1_000;

/// All that a text stands for: a reader that looks ahead at each term, or copies the text for each alternative, still ends in seconds.
pub const MOST_BYTES: usize = 1_000_000;

/// Brackets, tables or keys in one another. Nothing that can be meant is half as deep.
pub const DEEPEST: usize = 12;

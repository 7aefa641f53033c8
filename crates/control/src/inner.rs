//! A scheme as a part of another: the fallback of `natcp`, the base of `nacap`.

use crate::contract::{Context, Controller};
use std::fmt;
use std::sync::Arc;

/// A scheme that another one builds and runs.
#[derive(Clone)]
pub struct InnerScheme {
    text: Arc<str>,
    build: Arc<BuildInner>,
}

/// Builds the scheme's controller.
type BuildInner = dyn Fn(&Context) -> Box<dyn Controller> + Send + Sync;

impl InnerScheme {
    /// The scheme whose canonical text is `text`, and how to build it.
    pub fn new(text: &str, build: impl Fn(&Context) -> Box<dyn Controller> + Send + Sync + 'static) -> Self {
        Self { text: text.into(), build: Arc::new(build) }
    }

    /// The canonical text, such as `bbr(pacing=off)`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A fresh controller.
    pub fn build(&self, context: &Context) -> Box<dyn Controller> {
        (self.build)(context)
    }
}

impl fmt::Debug for InnerScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InnerScheme").field(&self.text).finish()
    }
}

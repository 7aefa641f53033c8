//! `explain` of links: the output of `cellcc explain TRACE`.

use crate::error::{input, of_request};
use cellcc_link::{Access, TraceCache};
use cellcc_report::{ExplainError, LinkDelay, LinkPart, least_delays};
use cellcc_runner::traces;
use cellcc_units::Span;
use pyo3::prelude::*;

/// The JSON that `cellcc explain --format json` prints for these links.
#[pyfunction]
#[pyo3(signature = (links, rtt, duration, access=None))]
pub(crate) fn explain_links(
    py: Python<'_>,
    links: Vec<String>,
    rtt: &str,
    duration: &str,
    access: Option<&str>,
) -> PyResult<String> {
    let (rtt, duration): (Span, Span) = (rtt.parse().map_err(input)?, duration.parse().map_err(input)?);
    let access: Option<Access> = access.map(str::parse).transpose().map_err(input)?;
    let texts = traces::expand(&links).map_err(of_request)?;
    let rows = || -> Result<Vec<LinkDelay>, ExplainError> {
        let cache = TraceCache::default();
        let parts = texts.iter().map(|text| {
            let source = cache.open(text)?;
            Ok(LinkPart { name: source.name, capacity: source.capacity, duration, rtt, access })
        });
        let parts = parts.collect::<Result<Vec<_>, ExplainError>>()?;
        let least = least_delays(&parts)?;
        Ok(parts.iter().zip(&least).map(|(part, least)| LinkDelay::new(part, least)).collect())
    };
    serde_json::to_string(&py.detach(rows).map_err(input)?).map_err(input)
}

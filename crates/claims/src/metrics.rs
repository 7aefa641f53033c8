//! The scalars of Records by their names.

use cellcc_experiment::{Metrics, Record};
use serde::de::{Deserialize, Deserializer, Error, Visitor, value};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Scalars by their keys; those that a run has not got are not there.
pub(crate) type Scalars = BTreeMap<String, f64>;

/// Of a run, besides its [`Metrics`].
const OF_RUN: [&str; 1] = ["jain_index"];
/// Of a flow, besides them.
const OF_FLOW: [&str; 1] = ["convergence_time_s"];

/// A struct's fields, those included that it leaves out where they are empty.
struct Fields<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("it has no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

static NAMES: LazyLock<&[&str]> = LazyLock::new(|| {
    let mut names: &[&str] = &[];
    // The error is the point: no value is there.
    drop(Metrics::deserialize(Fields(&mut names)));
    names
});

/// The names of all scalars.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied().chain(OF_RUN).chain(OF_FLOW)
}

pub(crate) fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

pub(crate) fn of_run(record: &Record) -> Scalars {
    let mut scalars = scalars(&record.total);
    scalars.extend(record.jain_index.map(|jain| (OF_RUN[0].to_owned(), jain)));
    scalars
}

pub(crate) fn of_flows(record: &Record) -> Vec<Scalars> {
    let of = |flow: &cellcc_experiment::FlowRecord| {
        let mut scalars = scalars(&flow.metrics);
        scalars.extend(flow.convergence_time_s.map(|time| (OF_FLOW[0].to_owned(), time)));
        scalars
    };
    record.flows.iter().map(of).collect()
}

fn scalars(metrics: &Metrics) -> Scalars {
    let Ok(Value::Object(object)) = serde_json::to_value(metrics) else { return Scalars::new() };
    object.into_iter().filter_map(|(key, value)| Some((key, value.as_f64()?))).collect()
}

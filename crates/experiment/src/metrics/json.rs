//! Metrics in a Record: by their keys, in the order of the table.

use super::{Absent, METRICS, Metrics, Of, Value};
use crate::metrics::table::KEYS;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = || METRICS.iter().filter(|metric| metric.is_written(self));
        let mut fields = serializer.serialize_struct("Metrics", written().count())?;
        for metric in written() {
            fields.serialize_field(metric.key, &metric.get(self))?;
        }
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Metrics", KEYS, ByKey)
    }
}

struct ByKey;

impl<'de> Visitor<'de> for ByKey {
    type Value = Metrics;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("metrics by their keys")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Metrics, M::Error> {
        let mut metrics = Metrics::default();
        let mut read = [false; METRICS.len()];
        while let Some(key) = map.next_key::<String>()? {
            let at = METRICS.iter().position(|metric| metric.key == key);
            let Some((at, Of::Both { set, .. })) = at.map(|at| (at, METRICS[at].of)) else {
                return Err(M::Error::unknown_field(&key, KEYS));
            };
            let metric = &METRICS[at];
            if std::mem::replace(&mut read[at], true) {
                return Err(M::Error::duplicate_field(metric.key));
            }
            let value = if metric.is_count() {
                map.next_value::<Option<u64>>()?.map(Value::Count)
            } else {
                map.next_value::<Option<f64>>()?.map(Value::Number)
            };
            if value.is_none() && metric.absent == Absent::Never {
                return Err(M::Error::custom(format!("`{key}` is null")));
            }
            set(&mut metrics, value);
        }
        // A Record of an earlier version may lack metrics that may be absent.
        for (metric, _) in METRICS.iter().zip(read).filter(|(_, read)| !read) {
            match metric.of {
                Of::Both { .. } if metric.absent == Absent::Never => {
                    return Err(M::Error::missing_field(metric.key));
                }
                Of::Both { set, .. } => set(&mut metrics, None),
                Of::Run(_) | Of::Flow(_) => {}
            }
        }
        Ok(metrics)
    }
}

//! Values of a table by dotted keys, `path.reverse.queue`.

use toml::{Table, Value};

/// The value at a dotted key.
pub fn get_mut<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    match key.split_once('.') {
        None => table.get_mut(key),
        Some((first, rest)) => get_mut(table.get_mut(first)?.as_table_mut()?, rest),
    }
}

/// Sets the value at a dotted key; gives the one before. Tables that are not there yet are made.
///
/// # Errors
/// A key below a value that is no table.
pub(crate) fn set(table: &mut Table, key: &str, value: Value) -> Result<Option<Value>, String> {
    match key.split_once('.') {
        None => Ok(table.insert(key.into(), value)),
        Some((first, rest)) => match table.entry(first).or_insert_with(|| Value::Table(Table::new())) {
            Value::Table(inner) => set(inner, rest, value),
            other => Err(format!("`{first}` is {other}, which has no keys")),
        },
    }
}

/// Sets a value as [`set`] does, except that a table sets only the keys that it has.
///
/// # Errors
/// Those of [`set`].
pub(crate) fn merge(table: &mut Table, key: &str, value: &Value) -> Result<Option<Value>, String> {
    match (get_mut(table, key), value) {
        (Some(Value::Table(inner)), Value::Table(value)) => {
            let before = inner.clone();
            inner.extend(value.clone());
            Ok(Some(Value::Table(before)))
        }
        _ => set(table, key, value.clone()),
    }
}

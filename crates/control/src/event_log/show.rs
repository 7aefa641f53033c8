//! Values in words: a struct's fields by name, exact, with units.

use serde::Serialize;

/// The fields of a struct, in their order.
pub(super) fn fields(value: &impl Serialize) -> Vec<(String, String)> {
    let json = json(value);
    let inside = json.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    let mut depth = 0_u32;
    let parts = inside.split(|c| {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let fields = parts.filter_map(|part| part.split_once("\":"));
    fields.map(|(name, value)| (name.trim_start_matches('"').into(), words(value))).collect()
}

/// `yes`, `1.5kB`, `{number=3 bytes=1.5kB}`, `[{...} {...}]`; `-` for nothing.
pub(super) fn show(value: &impl Serialize) -> String {
    words(&json(value))
}

/// No text in a log has a character that JSON would escape: all are quantities, names of variants and hexadecimal digits.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn words(json: &str) -> String {
    match json {
        "true" => "yes".into(),
        "false" => "no".into(),
        "null" => "-".into(),
        _ => {
            let named = json.replace("\":true", "=yes").replace("\":false", "=no").replace("\":null", "=-");
            named.replace("\":", "=").replace(',', " ").replace('"', "")
        }
    }
}

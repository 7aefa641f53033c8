//! Untrusted claims: an expression, a file of claims, a page with tables. A mistake is an error with its place, and a parsed
//! claim can be computed.

#![no_main]

use cellcc_claims::page::Page;
use cellcc_claims::{Claims, DataRuns, Quantity, Units, expression};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match expression::parse(text) {
        Ok(expression) => {
            drop(Quantity::new(&expression, None, &DataRuns::new(), Units::Traces).map(|it| it.number()))
        }
        Err(error) => assert!(error.at <= text.len(), "{error:?}"),
    }
    if let Ok(claims) = Claims::read([("fuzzed.toml", text)], ("recordings.toml", "")) {
        let _ = claims.needs(&claims.claims, &claims.figures);
    }
    if let Ok(page) = Page::read("fuzzed.md", text) {
        page.checks.iter().for_each(|check| _ = page.cells(check, "data"));
    }
});

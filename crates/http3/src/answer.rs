//! The answer to a request for a file: status, header, and its byte range (RFC 9110, sections 13 and 14).
//!
//! A request for several ranges gets all, as the RFC allows. `If-Match` and `If-Unmodified-Since` are for methods that change
//! files, and there are none here.

use http::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, DATE, ETAG, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, RANGE, RETRY_AFTER,
};
use http::{HeaderMap, HeaderName, Response, StatusCode, response};
use percent_encoding::percent_decode_str;
use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A page stands for its folder under this name.
const INDEX: &str = "index.html";
/// When a client that found no place for its file may ask again. Ours: most files are sent by then, and unread ones are given
/// up after twice [`SILENCE`](crate::SILENCE).
const RETRY_SECONDS: u32 = 10;
/// The last second of the year 9999: the year of a date has four digits (RFC 9110, section 5.6.7).
const LAST_DATE: Duration = Duration::from_secs(253_402_300_799);

/// A response, and the bytes of the file that follow where its method is GET.
#[derive(Debug)]
pub struct Answer {
    /// Status and header.
    pub response: Response<()>,
    /// The range of the file's bytes.
    pub body: Range<u64>,
}

/// The name of the file that a path of a request means. None: not UTF-8.
pub(crate) fn name(path: &str) -> Option<String> {
    let name = percent_decode_str(path).decode_utf8().ok()?;
    Some(if name.ends_with('/') { format!("{name}{INDEX}") } else { name.into_owned() })
}

/// Without a file.
pub(crate) fn refusal(status: StatusCode, now: SystemTime) -> Answer {
    let response = start(status, now).header(CONTENT_LENGTH, 0);
    let response = match status {
        StatusCode::METHOD_NOT_ALLOWED => response.header(ALLOW, "GET, HEAD"),
        StatusCode::SERVICE_UNAVAILABLE => response.header(RETRY_AFTER, RETRY_SECONDS),
        _ => response,
    };
    finish(response, 0..0)
}

/// Facts about a file, in values that a header can hold.
#[derive(Debug, Clone)]
pub struct Facts {
    bytes: u64,
    modified: SystemTime,
    /// Another text for each change of size or time, which file systems keep in nanoseconds.
    tag: String,
    content_type: String,
}

impl Facts {
    /// Facts about a file with this name, size and time of change. File systems hold times before 1970 and after 9999.
    pub fn new(name: &str, bytes: u64, modified: SystemTime) -> Self {
        let kind = mime_guess::from_path(name).first_or_octet_stream();
        // The charset of phones and editors; without it a browser would use its user's default.
        let charset = if kind.type_() == "text" { "; charset=utf-8" } else { "" };
        let (sign, from_1970) = match modified.duration_since(UNIX_EPOCH) {
            Ok(since) => ("", since),
            Err(before) => ("-", before.duration()),
        };
        Self {
            bytes,
            modified: within_dates(modified),
            tag: format!("\"{bytes:x}-{sign}{:x}\"", from_1970.as_nanos()),
            content_type: format!("{kind}{charset}"),
        }
    }

    /// The answer to a request with this header.
    pub fn answer(&self, asked: &HeaderMap, now: SystemTime) -> Answer {
        let (tag, date) = (&self.tag, httpdate::fmt_http_date(self.modified));
        let begin = |status| {
            start(status, now).header(ETAG, tag).header(LAST_MODIFIED, &date).header(ACCEPT_RANGES, "bytes")
        };
        if self.is_known(asked) {
            return finish(begin(StatusCode::NOT_MODIFIED), 0..0);
        }
        let condition = text(asked, IF_RANGE);
        let range =
            text(asked, RANGE).filter(|_| condition.is_none_or(|given| given == tag || given == date));
        let (status, body) = match range.and_then(|range| one_range(range, self.bytes)) {
            Some(Ok(body)) => (StatusCode::PARTIAL_CONTENT, body),
            Some(Err(Unsatisfiable)) => {
                let whole = format!("bytes */{}", self.bytes);
                let response = begin(StatusCode::RANGE_NOT_SATISFIABLE).header(CONTENT_RANGE, whole);
                return finish(response.header(CONTENT_LENGTH, 0), 0..0);
            }
            None => (StatusCode::OK, 0..self.bytes),
        };
        let mut response = begin(status)
            .header(CONTENT_TYPE, &self.content_type)
            .header(CONTENT_LENGTH, body.end - body.start);
        if status == StatusCode::PARTIAL_CONTENT {
            let part = format!("bytes {}-{}/{}", body.start, body.end - 1, self.bytes);
            response = response.header(CONTENT_RANGE, part);
        }
        finish(response, body)
    }

    /// True if the client has the file as it is.
    fn is_known(&self, asked: &HeaderMap) -> bool {
        if asked.contains_key(IF_NONE_MATCH) {
            let given = asked.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
            let mut given = given.flat_map(|value| value.split(',')).map(str::trim);
            return given.any(|one| one == "*" || one.trim_start_matches("W/") == self.tag);
        }
        let since = text(asked, IF_MODIFIED_SINCE).and_then(|date| httpdate::parse_http_date(date).ok());
        since.is_some_and(|since| seconds(self.modified) <= seconds(since))
    }
}

/// The time, or the nearest that a date of HTTP can be.
fn within_dates(time: SystemTime) -> SystemTime {
    time.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST_DATE)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn text(asked: &HeaderMap, name: HeaderName) -> Option<&str> {
    asked.get(name)?.to_str().ok()
}

fn start(status: StatusCode, now: SystemTime) -> response::Builder {
    Response::builder().status(status).header(DATE, httpdate::fmt_http_date(within_dates(now)))
}

fn finish(response: response::Builder, body: Range<u64>) -> Answer {
    let response = response.body(()).expect("texts, numbers and dates are values of a header");
    Answer { response, body }
}

/// A range that begins behind the file's end.
#[derive(Debug, PartialEq, Eq)]
struct Unsatisfiable;

/// The range that `Range` means. None: there are several, or it is no range of bytes, and all is sent.
fn one_range(text: &str, bytes: u64) -> Option<Result<Range<u64>, Unsatisfiable>> {
    let (first, last) = text.strip_prefix("bytes=")?.trim().split_once('-')?;
    let number = |text: &str| -> Option<Option<u64>> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        // One of more digits is beyond each file.
        is_number.then(|| (!text.is_empty()).then(|| text.parse().unwrap_or(u64::MAX)))
    };
    let range = match (number(first)?, number(last)?) {
        (None, None) => return None,
        (None, Some(length)) => bytes.saturating_sub(length)..bytes,
        (Some(first), Some(last)) if last < first => return None,
        (Some(first), last) => first..last.unwrap_or(u64::MAX).saturating_add(1).min(bytes),
    };
    Some(if range.is_empty() { Err(Unsatisfiable) } else { Ok(range) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn facts(bytes: u64) -> Facts {
        let modified = UNIX_EPOCH + Duration::from_millis(1_700_000_000_250);
        Facts::new("film.mp4", bytes, modified)
    }

    fn answer(bytes: u64, asked: &[(HeaderName, &str)]) -> Answer {
        let asked = asked.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        facts(bytes).answer(&asked, UNIX_EPOCH)
    }

    fn value(answer: &Answer, name: HeaderName) -> &str {
        answer.response.headers()[name].to_str().unwrap()
    }

    #[test]
    fn a_range_is_the_bytes_that_rfc_9110_says() {
        for (text, meant) in [
            ("bytes=0-0", Some(Ok(0..1))),
            ("bytes=5-", Some(Ok(5..10))),
            ("bytes=5-99999999999999999999999", Some(Ok(5..10))),
            ("bytes=-3", Some(Ok(7..10))),
            ("bytes=-30", Some(Ok(0..10))),
            ("bytes=10-", Some(Err(Unsatisfiable))),
            ("bytes=99999999999999999999999-", Some(Err(Unsatisfiable))),
            ("bytes=-0", Some(Err(Unsatisfiable))),
            ("bytes=5-4", None),
            ("bytes=-", None),
            ("bytes=0-1,4-5", None),
            ("bytes=+1-2", None),
            ("lines=0-1", None),
            ("", None),
        ] {
            assert_eq!(one_range(text, 10), meant, "{text}");
        }
        assert_eq!(one_range("bytes=0-", 0), Some(Err(Unsatisfiable)));
    }

    #[test]
    fn a_part_says_where_it_belongs_and_what_is_beyond_the_end_says_how_long_the_file_is() {
        let part = answer(1000, &[(RANGE, "bytes=100-199")]);
        assert_eq!((part.response.status().as_u16(), part.body.clone()), (206, 100..200));
        assert_eq!(value(&part, CONTENT_RANGE), "bytes 100-199/1000");
        assert_eq!(value(&part, CONTENT_LENGTH), "100");
        let beyond = answer(1000, &[(RANGE, "bytes=1000-")]);
        assert_eq!((beyond.response.status().as_u16(), beyond.body.clone()), (416, 0..0));
        assert_eq!(value(&beyond, CONTENT_RANGE), "bytes */1000");
    }

    #[test]
    fn who_has_the_file_as_it_is_is_not_sent_it_again() {
        let tag = facts(1000).tag;
        let date = httpdate::fmt_http_date(facts(1000).modified);
        let later = "Thu, 01 Jan 2026 00:00:00 GMT";
        let earlier = "Thu, 01 Jan 2015 00:00:00 GMT";
        for (name, given, status) in [
            (IF_NONE_MATCH, tag.as_str(), 304),
            (IF_NONE_MATCH, &format!("\"other\", W/{tag}"), 304),
            (IF_NONE_MATCH, "*", 304),
            (IF_NONE_MATCH, "\"other\"", 200),
            (IF_MODIFIED_SINCE, &date, 304),
            (IF_MODIFIED_SINCE, later, 304),
            (IF_MODIFIED_SINCE, earlier, 200),
            (IF_MODIFIED_SINCE, "yesterday", 200),
        ] {
            let answer = answer(1000, &[(name.clone(), given)]);
            assert_eq!(answer.response.status().as_u16(), status, "{name}: {given}");
            assert_eq!(answer.body, if status == 304 { 0..0 } else { 0..1000 });
        }
        let both = answer(1000, &[(IF_NONE_MATCH, "\"other\""), (IF_MODIFIED_SINCE, later)]);
        assert_eq!(both.response.status(), StatusCode::OK, "the tag counts where both are given");
    }

    #[test]
    fn a_part_of_a_file_that_has_changed_is_all_of_it() {
        let tag = facts(1000).tag;
        let date = httpdate::fmt_http_date(facts(1000).modified);
        let weak = format!("W/{tag}");
        for (given, status) in
            [(tag.as_str(), 206), (&date, 206), ("\"other\"", 200), (&weak, 200), ("yesterday", 200)]
        {
            let answer = answer(1000, &[(RANGE, "bytes=0-9"), (IF_RANGE, given)]);
            assert_eq!(answer.response.status().as_u16(), status, "{given}");
        }
    }

    #[test]
    fn a_change_within_a_second_changes_the_tag() {
        let tag =
            |bytes, millis| Facts::new("", bytes, facts(1).modified + Duration::from_millis(millis)).tag;
        assert_ne!(tag(1, 1), tag(1, 0));
        assert_ne!(tag(2, 0), tag(1, 0));
    }

    /// A request for a file of 1960 ended in a panic.
    #[test]
    fn a_file_of_any_time_has_a_date_and_a_tag_of_its_own() {
        let day = Duration::from_secs(86_400);
        let mut tags = HashSet::new();
        for (modified, date) in [
            (UNIX_EPOCH - 3653 * day, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (UNIX_EPOCH - Duration::from_nanos(1), "Thu, 01 Jan 1970 00:00:00 GMT"),
            (UNIX_EPOCH, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (UNIX_EPOCH + LAST_DATE, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (UNIX_EPOCH + LAST_DATE + day, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            let facts = Facts::new("old.txt", 3, modified);
            let whole = facts.answer(&HeaderMap::new(), modified);
            assert_eq!((value(&whole, LAST_MODIFIED), value(&whole, DATE)), (date, date), "{modified:?}");
            let known = HeaderMap::from_iter([(IF_MODIFIED_SINCE, date.parse().unwrap())]);
            assert_eq!(facts.answer(&known, modified).response.status(), StatusCode::NOT_MODIFIED);
            tags.insert(facts.tag);
        }
        assert_eq!(tags.len(), 5);
    }

    #[test]
    fn who_finds_no_place_for_a_file_hears_when_to_ask_again() {
        let busy = refusal(StatusCode::SERVICE_UNAVAILABLE, UNIX_EPOCH);
        assert_eq!(value(&busy, RETRY_AFTER), "10");
    }

    #[test]
    fn a_path_names_a_file_and_a_folder_its_page() {
        for (path, meant) in [
            ("/a%20b.html", Some("/a b.html")),
            ("/", Some("/index.html")),
            ("/sub/", Some("/sub/index.html")),
            ("/%2e%2e/x", Some("/../x")),
            ("/%ff", None),
        ] {
            assert_eq!(name(path).as_deref(), meant, "{path}");
        }
    }
}

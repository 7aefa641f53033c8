//! One user's counters in one period: the normal form of measurements, as a line of JSON.
//!
//! ```text
//! {"address":"10.45.0.2","cell":1,"period_ms":50,"served_bytes":75000,"busy_ms":50,"queued_bytes":3000,"uplink_delay_ms":8}
//! ```
//!
//! A missing field, or null, is not known, which is never zero. docs/how-to/netassist-sources.md describes the fields.

use crate::identity::{RadioName, SourceName};
use crate::sample::Sample;
use cellcc_assist::{BaseRtt, Counted, Evidence, Knowledge, Observation};
use cellcc_units::{Bytes, Rate, Span, Time};
use serde_json::{Map, Value, json};
use std::fmt;

/// The packet that the minimum RTT is about.
const PACKET: Bytes = Bytes::new(1500);
/// Milliseconds that a period can last. Ours: a record can say up to 65 s.
const PERIOD_MS: (f64, f64) = (1.0, 60_000.0);
/// The longest of the delays that is believed, in milliseconds. Ours.
const MAX_DELAY_MS: f64 = 3_600_000.0;
/// The most bytes in a period: more than the fastest cell carries in the longest one. Ours.
const MAX_BYTES: f64 = 1e12;
/// The largest physical cell identity (3GPP TS 38.211, section 7.4.2.1).
pub(crate) const MAX_PCI: u16 = 1007;
/// All fields of a line.
const FIELDS: &str = "user address tunnel rnti cell period_ms served_bytes busy_ms waited_ms queued_bytes received_bytes \
    uplink_delay_ms network_rtt_ms min_rtt_ms";

/// One user's counters in one period.
#[derive(Debug, Clone, PartialEq)]
pub struct UserCounters {
    /// Whose they are.
    pub user: SourceName,
    /// The user's cell; another one than before is a handover. `None` where the source does not tell cells apart.
    pub cell: Option<u32>,
    /// How long the period was.
    pub period: Span,
    /// Bytes that left for the user.
    pub served: Bytes,
    /// How long something waited for the user, and the evidence of it. `None` where only the service is known.
    pub busy: Option<(Span, Evidence)>,
    /// Bytes that waited at the period's end.
    pub queued: Option<Bytes>,
    /// Bytes from the user.
    pub received: Option<Bytes>,
    /// From a request of the user to send until its data were decoded.
    pub uplink_delay: Option<Span>,
    /// The smallest round trip.
    pub base_rtt: BaseRtt,
}

impl UserCounters {
    /// Reads a line. `pci`: the cell of lines that name none.
    ///
    /// # Errors
    /// The field that is wrong, and its right form.
    pub fn parse(line: &str, pci: Option<u16>) -> Result<Self, String> {
        let fields = Fields::read(line)?;
        let cell = fields.whole("cell", u32::MAX)?.or(pci.map(u32::from));
        let period_ms = fields.number("period_ms", PERIOD_MS.0, PERIOD_MS.1)?;
        let period_ms = period_ms.ok_or("`period_ms` is missing: the length of the counted period")?;
        let served = fields.bytes("served_bytes")?;
        let served =
            served.ok_or("`served_bytes` is missing: the bytes that left for the user in the period")?;
        let busy = fields.one_of(["busy_ms", "waited_ms"], |name| fields.number(name, 0.0, period_ms))?;
        let evidence = |name| if name == "busy_ms" { Evidence::Queue } else { Evidence::RoundTrips };
        let base_rtt = fields.one_of(["network_rtt_ms", "min_rtt_ms"], |name| fields.delay(name))?;
        Ok(Self {
            user: fields.user(cell)?,
            cell,
            period: milliseconds(period_ms),
            served,
            busy: busy.map(|(name, busy)| (milliseconds(busy), evidence(name))),
            queued: fields.bytes("queued_bytes")?,
            received: fields.bytes("received_bytes")?,
            uplink_delay: fields.delay("uplink_delay_ms")?,
            base_rtt: match base_rtt {
                Some(("min_rtt_ms", whole)) => BaseRtt::ToUser(whole),
                network => BaseRtt::ToBaseStation(network.map(|(_, network)| network)),
            },
        })
    }

    /// The sample of the period that ended at `until`.
    pub(crate) fn sample(self, until: Time) -> Sample {
        let (busy, evidence) = self.busy.unwrap_or((Span::ZERO, Evidence::Served));
        let downlink = Observation {
            period: self.period,
            served: self.served,
            busy,
            // Zero also where it is not known: then it is no evidence of a queue, and a record has no other value.
            backlog: self.queued.unwrap_or(Bytes::ZERO),
            channel: None,
            packet: PACKET,
            evidence,
        };
        let uplink = self.received.map_or(Rate::ZERO, |received| Rate::from_transfer(received, self.period));
        let Self { uplink_delay, base_rtt, .. } = self;
        let measured = Knowledge::Counted(Counted { downlink, uplink, uplink_delay, base_rtt });
        Sample { user: self.user, cell: self.cell.unwrap_or_default(), until, measured }
    }
}

/// The line.
impl fmt::Display for UserCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, user) = match &self.user {
            SourceName::Name(name) => ("user", json!(name)),
            SourceName::Address(address) => ("address", json!(address)),
            SourceName::Tunnel(tunnel) => ("tunnel", json!(tunnel)),
            SourceName::Radio(RadioName { rnti, .. }) => ("rnti", json!(rnti)),
        };
        let ms = |span: Span| json!(span.as_millis_f64());
        let bytes = |bytes: Bytes| json!(bytes.get());
        let (whole, network) = match self.base_rtt {
            BaseRtt::ToUser(whole) => (Some(whole), None),
            BaseRtt::ToBaseStation(network) => (None, network),
        };
        let busy = |wanted| self.busy.filter(|(_, evidence)| *evidence == wanted).map(|(busy, _)| ms(busy));
        let fields = [
            (name, Some(user)),
            ("cell", self.cell.map(|cell| json!(cell))),
            ("period_ms", Some(ms(self.period))),
            ("served_bytes", Some(bytes(self.served))),
            ("busy_ms", busy(Evidence::Queue)),
            ("waited_ms", busy(Evidence::RoundTrips)),
            ("queued_bytes", self.queued.map(bytes)),
            ("received_bytes", self.received.map(bytes)),
            ("uplink_delay_ms", self.uplink_delay.map(ms)),
            ("network_rtt_ms", network.map(ms)),
            ("min_rtt_ms", whole.map(ms)),
        ];
        let known = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(known.collect()).fmt(f)
    }
}

fn milliseconds(ms: f64) -> Span {
    Span::from_nanos((ms * 1e6).round() as u64)
}

/// The fields of a line, which are all known by name.
struct Fields(Map<String, Value>);

impl Fields {
    fn read(line: &str) -> Result<Self, String> {
        let fields: Map<String, Value> =
            serde_json::from_str(line).map_err(|error| format!("not an object of JSON: {error}"))?;
        match fields.keys().find(|field| !FIELDS.split(' ').any(|known| known == *field)) {
            None => Ok(Self(fields)),
            Some(_) if fields.contains_key("tstamp") => {
                Err("a line of an earlier examples/flexric-xapp/xapp.py: run the present one".into())
            }
            Some(field) => Err(format!("there is no field `{field}`, only {FIELDS}")),
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn right<T>(
        &self,
        name: &str,
        right: impl Fn(&Value) -> Option<T>,
        form: &str,
    ) -> Result<Option<T>, String> {
        let wrong = |value| format!("`{name}` is {value}, but has to be {form}");
        self.get(name).map(|value| right(value).ok_or_else(|| wrong(value))).transpose()
    }

    fn number(&self, name: &str, least: f64, most: f64) -> Result<Option<f64>, String> {
        let number = |value: &Value| value.as_f64().filter(|number| (least..=most).contains(number));
        self.right(name, number, &format!("a number from {least} to {most}"))
    }

    fn whole<T: TryFrom<u64> + fmt::Display>(&self, name: &str, most: T) -> Result<Option<T>, String> {
        let whole = |value: &Value| T::try_from(value.as_u64()?).ok();
        self.right(name, whole, &format!("a whole number from 0 to {most}"))
    }

    /// A script's division makes a fraction of a count.
    fn bytes(&self, name: &str) -> Result<Option<Bytes>, String> {
        Ok(self.number(name, 0.0, MAX_BYTES)?.map(|bytes| Bytes::new(bytes.round() as u64)))
    }

    /// Zero is refused: nothing takes no time, so it would stand for an unknown delay.
    fn delay(&self, name: &str) -> Result<Option<Span>, String> {
        let ms = |value: &Value| value.as_f64().filter(|ms| *ms > 0.0 && *ms <= MAX_DELAY_MS);
        let form = format!("above 0 and at most {MAX_DELAY_MS}; leave it out where it is not known");
        Ok(self.right(name, ms, &form)?.map(milliseconds))
    }

    /// The one of these fields that the line has.
    fn one_of<'a, T, const N: usize>(
        &self,
        names: [&'a str; N],
        read: impl Fn(&str) -> Result<Option<T>, String>,
    ) -> Result<Option<(&'a str, T)>, String> {
        let mut present = names.into_iter().filter(|name| self.get(name).is_some());
        let Some(name) = present.next() else { return Ok(None) };
        if let Some(other) = present.next() {
            return Err(format!("`{name}` and `{other}` exclude each other: leave out one"));
        }
        Ok(read(name)?.map(|value| (name, value)))
    }

    fn user(&self, cell: Option<u32>) -> Result<SourceName, String> {
        let radio = |rnti| {
            let pci = cell.and_then(|cell| u16::try_from(cell).ok()).filter(|pci| *pci <= MAX_PCI);
            let pci = pci.ok_or_else(|| format!("`rnti` needs its `cell`, 0 to {MAX_PCI}"))?;
            Ok::<_, String>(SourceName::Radio(RadioName { pci, rnti }))
        };
        let name = |value: &Value| value.as_str().map(|name| SourceName::Name(name.into()));
        let address = |value: &Value| Some(SourceName::Address(value.as_str()?.parse().ok()?));
        let user = self.one_of(["user", "address", "tunnel", "rnti"], |field| match field {
            "user" => self.right(field, name, "the `name` of a [[user]], in quotes"),
            "address" => self.right(field, address, "an IP address, in quotes"),
            "tunnel" => Ok(self.whole(field, u32::MAX)?.map(SourceName::Tunnel)),
            _ => self.whole(field, u16::MAX)?.map(radio).transpose(),
        })?;
        let missing = "whose counters they are is missing: `user`, `address`, `tunnel` or `rnti`";
        user.map(|(_, user)| user).ok_or_else(|| missing.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &str = r#"{"address":"10.45.0.2","cell":1,"period_ms":50,"served_bytes":75000,"busy_ms":40.5,
        "queued_bytes":3000,"received_bytes":900,"uplink_delay_ms":8,"network_rtt_ms":10}"#;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    #[test]
    fn a_line_with_all_fields_is_read() {
        let counters = UserCounters::parse(LINE, None).unwrap();
        assert_eq!((&counters.user, counters.cell), (&SourceName::Address([10, 45, 0, 2].into()), Some(1)));
        assert_eq!((counters.period, counters.served), (ms(50), Bytes::new(75_000)));
        assert_eq!(counters.busy, Some((Span::from_micros(40_500), Evidence::Queue)));
        assert_eq!((counters.queued, counters.received), (Some(Bytes::new(3000)), Some(Bytes::new(900))));
        assert_eq!(counters.uplink_delay, Some(ms(8)));
        assert_eq!(counters.base_rtt, BaseRtt::ToBaseStation(Some(ms(10))));
    }

    #[test]
    fn the_how_to_describes_each_field() {
        let page = include_str!("../../../../../docs/how-to/netassist-sources.md");
        let (_, section) = page.split_once("## Counters of your own").unwrap();
        let missing: Vec<_> =
            FIELDS.split(' ').filter(|field| !section.contains(&format!("`{field}`"))).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn a_missing_field_is_not_known_and_never_zero() {
        let least =
            UserCounters::parse(r#"{"user":"alice","period_ms":50,"served_bytes":0,"busy_ms":null}"#, None);
        let least = least.unwrap();
        assert_eq!((least.cell, least.queued, least.received, least.uplink_delay), (None, None, None, None));
        assert_eq!((least.busy, least.base_rtt), (None, BaseRtt::ToBaseStation(None)));
        let Knowledge::Counted(counted) = least.sample(Time::ZERO).measured else { panic!("no oracle") };
        assert_eq!(counted.downlink.evidence, Evidence::Served, "no proof of an empty queue");
    }

    #[test]
    fn a_user_has_one_of_four_names() {
        let named = |name: &str| {
            let line = format!(r#"{{{name},"period_ms":50,"served_bytes":0}}"#);
            UserCounters::parse(&line, Some(7)).map(|counters| counters.user)
        };
        assert_eq!(named(r#""user":"alice""#), Ok(SourceName::Name("alice".into())));
        assert_eq!(
            named(r#""address":"2001:db8::1""#),
            Ok(SourceName::Address("2001:db8::1".parse().unwrap()))
        );
        assert_eq!(named(r#""tunnel":12"#), Ok(SourceName::Tunnel(12)));
        assert_eq!(named(r#""rnti":17921"#), Ok(SourceName::Radio(RadioName { pci: 7, rnti: 17921 })));
        assert_eq!(named(r#""rnti":1,"cell":9"#), Ok(SourceName::Radio(RadioName { pci: 9, rnti: 1 })));
        for (wrong, reason) in [
            (r#""cell":1"#, "whose counters they are is missing"),
            (r#""user":"alice","rnti":1"#, "`user` and `rnti` exclude each other"),
            (r#""rnti":65536"#, "`rnti` is 65536, but has to be a whole number from 0 to 65535"),
            (r#""rnti":1,"cell":1008"#, "`rnti` needs its `cell`, 0 to 1007"),
            (r#""address":"alice""#, "`address` is \"alice\", but has to be an IP address, in quotes"),
            (r#""user":7"#, "`user` is 7, but has to be the `name` of a [[user]], in quotes"),
        ] {
            assert!(named(wrong).unwrap_err().starts_with(reason), "{wrong}: {:?}", named(wrong));
        }
    }

    #[test]
    fn a_wrong_field_is_named_with_its_right_form() {
        for (right, wrong, reason) in [
            (
                r#""period_ms":50"#,
                r#""period_ms":0.05"#,
                "`period_ms` is 0.05, but has to be a number from 1 to 60000",
            ),
            (r#""period_ms":50,"#, "", "`period_ms` is missing: the length of the counted period"),
            (r#""served_bytes":75000,"#, "", "`served_bytes` is missing: the bytes that left"),
            (
                "75000",
                r#""75000""#,
                "`served_bytes` is \"75000\", but has to be a number from 0 to 1000000000000",
            ),
            ("75000", "-1", "`served_bytes` is -1"),
            ("40.5", "50.1", "`busy_ms` is 50.1, but has to be a number from 0 to 50"),
            (r#""cell":1"#, r#""waited_ms":1"#, "`busy_ms` and `waited_ms` exclude each other"),
            (r#""cell":1"#, r#""min_rtt_ms":30"#, "`network_rtt_ms` and `min_rtt_ms` exclude each other"),
            (
                r#""uplink_delay_ms":8"#,
                r#""uplink_delay_ms":0"#,
                "`uplink_delay_ms` is 0, but has to be above 0",
            ),
            ("queued_bytes", "queue_bytes", "there is no field `queue_bytes`, only user address"),
            (r#""cell":1"#, r#""tstamp":1"#, "a line of an earlier examples/flexric-xapp/xapp.py"),
            ("}", "", "not an object of JSON"),
        ] {
            let line = LINE.replacen(right, wrong, 1);
            let error = UserCounters::parse(&line, None).unwrap_err();
            assert!(error.starts_with(reason), "{line}: {error}");
        }
    }

    proptest! {
        #[test]
        fn each_line_that_is_written_is_read(
            (served, nanos) in (0_u64..1 << 39, 1_000_000_u64..60_000_000_000),
            [queued, received] in prop::array::uniform2(prop::option::of(0_u64..1 << 39)),
            [uplink, network] in prop::array::uniform2(prop::option::of(1_u64..3_600_000_000_000)),
            (kind, share, cell) in (0_u8..3, 0.0..1.0_f64, prop::option::of(0_u32..1008)),
        ) {
            let period = Span::from_nanos(nanos);
            let busy = period.mul_f64(share);
            let counters = UserCounters {
                user: match (kind, cell) {
                    (0, _) => SourceName::Name("alice".into()),
                    (_, Some(pci)) => SourceName::Radio(RadioName { pci: pci as u16, rnti: 7 }),
                    (_, None) => SourceName::Tunnel(7),
                },
                cell,
                period,
                served: Bytes::new(served),
                busy: [None, Some((busy, Evidence::Queue)), Some((busy, Evidence::RoundTrips))][usize::from(kind)],
                queued: queued.map(Bytes::new),
                received: received.map(Bytes::new),
                uplink_delay: uplink.map(Span::from_nanos),
                base_rtt: match (kind, network) {
                    (0, Some(whole)) => BaseRtt::ToUser(Span::from_nanos(whole)),
                    _ => BaseRtt::ToBaseStation(network.map(Span::from_nanos)),
                },
            };
            prop_assert_eq!(UserCounters::parse(&counters.to_string(), None), Ok(counters));
        }

        #[test]
        fn a_line_with_a_byte_changed_does_not_make_the_reader_panic(at in 0..LINE.len(), byte in 0_u8..128) {
            let mut bytes = LINE.as_bytes().to_vec();
            bytes[at] = byte;
            let _ = UserCounters::parse(str::from_utf8(&bytes).unwrap(), None);
        }
    }
}

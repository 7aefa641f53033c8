//! The structs that C and Rust share: the objects describe those of C, field by field.

use super::Scheme;
use super::cores;
use crate::network::host_counters::{self, Counted};
use crate::recording::sockets::{self, Listed};
use crate::recording::verification::SocketName;
use cellcc_fixed::Window;
use cellcc_fixed::path::AckEvent;
use cellcc_fixed::step::Layout;
use libbpf_rs::HasSize;
use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::btf::{Btf, TypeId};
use std::collections::BTreeSet;

/// All that Rust has.
fn layouts() -> Vec<Layout> {
    let shared = [AckEvent::LAYOUT, Window::LAYOUT, SocketName::LAYOUT, Listed::LAYOUT, Counted::LAYOUT];
    shared.into_iter().chain(cores().into_iter().flat_map(|core| core.layouts.iter().copied())).collect()
}

/// Structs whose inside only one side knows: their size shows in the offset of the next field.
fn is_opaque(name: &str) -> bool {
    name.ends_with("_state") || name == "bpf_spin_lock"
}

fn text(name: Option<&std::ffi::OsStr>) -> String {
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The struct of a field, where it is one.
fn inside(btf: &Btf<'_>, field: TypeId) -> Option<String> {
    btf.type_by_id::<Struct<'_>>(field).map(|inner| text(inner.name()))
}

/// Compares a struct of C with ours, and gives the structs in it that must also be compared.
fn compare(btf: &Btf<'_>, c: &Struct<'_>, ours: &Layout) -> Vec<String> {
    let offset = |attr: &MemberAttr| match attr {
        MemberAttr::Normal { offset } | MemberAttr::BitField { offset, .. } => *offset as usize / 8,
    };
    let fields: Vec<_> = c.iter().map(|field| (text(field.name), offset(&field.attr))).collect();
    let own: Vec<_> = ours.fields.iter().map(|(name, offset)| ((*name).to_owned(), *offset)).collect();
    assert_eq!((fields, c.size()), (own, ours.size), "struct {}: C, and Rust", ours.name);
    c.iter().filter_map(|field| inside(btf, field.ty)).filter(|name| !is_opaque(name)).collect()
}

#[test]
fn every_field_that_c_and_rust_share_is_at_one_offset() {
    let layouts = layouts();
    let schemes = Scheme::ALL.into_iter().map(|scheme| (scheme.name(), scheme.object()));
    let others = [("sockets", sockets::OBJECT), ("host_counters", host_counters::OBJECT)];
    let mut compared = BTreeSet::new();
    for (name, object) in schemes.chain(others) {
        let btf = Btf::from_raw(name, object).expect("an object").expect("types");
        for ours in &layouts {
            let Some(c) = btf.type_by_name::<Struct<'_>>(ours.name) else { continue };
            for inner in compare(&btf, &c, ours) {
                assert!(
                    layouts.iter().any(|known| known.name == inner),
                    "{name}: Rust has no struct {inner}"
                );
            }
            compared.insert(ours.name);
        }
    }
    let all: BTreeSet<_> = layouts.iter().map(|ours| ours.name).collect();
    assert_eq!(compared, all, "an object describes each of them");
}

#[test]
fn swapped_fields_are_found() {
    let btf = Btf::from_raw("a scheme", Scheme::ALL[0].object()).expect("an object").expect("types");
    let c = btf.type_by_name::<Struct<'_>>("window").expect("a struct");
    let swapped = Layout { fields: &[("ssthresh", 0), ("cwnd", 4)], ..Window::LAYOUT };
    let _ = compare(&btf, &c, &Window::LAYOUT);
    assert!(std::panic::catch_unwind(|| compare(&btf, &c, &swapped)).is_err());
}

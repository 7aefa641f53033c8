//! Structs and enums as [`Coded`](super::coding::Coded) values: lists of their fields and variants.

use super::coding::Coded;

/// The fields of a struct have the slots from its number times this.
pub(super) const SLOTS_PER_STRUCT: usize = 32;

/// The fields of a struct, in the order in which they are written. A field that is not listed does not compile; `NUMBER`
/// is the struct's own; `in SLOT` shares a slot with other structs; `without` gives what is not written.
macro_rules! coded_struct {
    ($number:literal: $type:ty {
        $($field:ident $(in $shared:expr)?),* $(,)?
    } $(without { $($other:ident: $value:expr),* $(,)? })?) => { const _: () = {
        use $crate::conversation::coding::{Coded, Decoder, Encoder, Malformed};
        use $crate::conversation::fields::{SLOTS_PER_STRUCT, show_fields};
        impl Coded for $type {
            fn encode(&self, _: usize, out: &mut Encoder) {
                let Self { $($field,)* $($($other: _,)*)? } = self;
                let mut slots = $number * SLOTS_PER_STRUCT..;
                $($field.encode(coded_struct!(@slot slots $($shared)?), out);)*
            }
            fn decode(
                _: usize,
                input: &mut Decoder<'_>,
            ) -> Result<Self, Malformed> {
                let mut slots = $number * SLOTS_PER_STRUCT..;
                Ok(Self {
                    $($field: Coded::decode(
                        coded_struct!(@slot slots $($shared)?),
                        input,
                    )?,)*
                    $($($other: $value,)*)?
                })
            }
            fn show(&self) -> String {
                show_fields(&self.fields())
            }
            fn fields(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($field), self.$field.show())),*]
            }
        }
    }; };
    (@slot $slots:ident) => { $slots.next().unwrap_or_default() };
    (@slot $slots:ident $shared:expr) => { $shared };
}
pub(super) use coded_struct;

/// The variants of an enum with their numbers, which never change within a version of the format.
macro_rules! coded_enum {
    ($type:ty { $($number:literal: $variant:ident $(($payload:ident))?),* $(,)? }) => { const _: () = {
        use $crate::conversation::coding::{Coded, Decoder, Encoder, Malformed};
        impl Coded for $type {
            fn encode(&self, slot: usize, out: &mut Encoder) {
                match self {
                    $(Self::$variant $(($payload))? => {
                        u64::encode(&$number, slot, out);
                        $($payload.encode(slot + 1, out);)?
                    })*
                }
            }
            fn decode(
                slot: usize,
                input: &mut Decoder<'_>,
            ) -> Result<Self, Malformed> {
                Ok(match u64::decode(slot, input)? {
                    $($number => Self::$variant $(({
                        let $payload = Coded::decode(slot + 1, input)?;
                        $payload
                    }))?,)*
                    _ => return Err(Malformed(
                        concat!("an unknown kind of ", stringify!($type)),
                    )),
                })
            }
            fn show(&self) -> String {
                match self {
                    $(Self::$variant $(($payload))? => {
                        #[allow(unused_mut, reason = "most variants hold nothing")]
                        let mut text = stringify!($variant).to_owned();
                        $(text += " "; text += &$payload.show();)?
                        text
                    })*
                }
            }
        }
    }; };
}
pub(super) use coded_enum;

/// `{number=3 bytes=1.5kB}`.
pub(super) fn show_fields(fields: &[(&str, String)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{{{}}}", fields.join(" "))
}

/// `[{...} {...}]`.
pub(super) fn show_list<T: Coded>(values: &[T]) -> String {
    let values: Vec<_> = values.iter().map(T::show).collect();
    format!("[{}]", values.join(" "))
}

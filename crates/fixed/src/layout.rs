//! Memory that C and Rust lay out alike: a struct in both languages, and its layout, which a test compares with C's.

/// The layout of a struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The name in C.
    pub name: &'static str,
    /// The size in bytes.
    pub size: usize,
    /// Names of the fields, and their offsets in bytes.
    pub fields: &'static [(&'static str, usize)],
}

/// Declares a struct that C has under the name after `as`, with fields of the same names or of those after their `as`.
/// Only a macro knows the names of fields; a list by hand would be a second copy of each struct.
#[macro_export]
macro_rules! mirror {
    (@name $field:ident) => {
        stringify!($field)
    };
    (@name $field:ident $c_field:ident) => {
        stringify!($c_field)
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident as $c_name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident $(as $c_field:ident)?: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        impl $name {
            /// The layout that C must have.
            #[allow(dead_code, reason = "only a test compares it")]
            $vis const LAYOUT: $crate::layout::Layout = $crate::layout::Layout {
                name: stringify!($c_name),
                size: size_of::<Self>(),
                fields: &[$(($crate::mirror!(@name $field $($c_field)?), core::mem::offset_of!(Self, $field))),*],
            };
        }
    };
}
pub use mirror;

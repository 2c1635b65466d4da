//! What a line of the table becomes: a kind, its shape, and what is found by its ids. All of it follows from the one line.

macro_rules! field {
    ([$kind:ident]) => {
        Field::Many(Kind::$kind)
    };
    ($kind:ident) => {
        Field::One(Kind::$kind)
    };
}

pub(super) use field;

macro_rules! shapes {
    (
        built_in { $($built_in:ident $least:literal $decoded:ty,)* }
        enumeration { $($enumeration:ident [$($value:literal)*] $otherwise:expr,)* }
        structure { $($structure:ident $id:literal $data_type:literal ($($name:ident: $field:tt),*))* }
    ) => {
        /// A kind of value that the table knows, named as in the specification.
        #[allow(missing_docs, reason = "the names are those of the specification")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Kind {
            $($built_in,)*
            $($enumeration,)*
            $($structure,)*
        }

        const COUNT: usize = Kind::ALL.len();

        const SHAPES: [Shape; COUNT] = [
            $(Shape {
                name: stringify!($built_in),
                encoding_id: 0,
                form: Form::BuiltIn,
                size: size_of::<$decoded>(),
            },)*
            $(Shape {
                name: stringify!($enumeration),
                encoding_id: 0,
                form: Form::Enumeration(&[$($value),*], $otherwise),
                size: size_of::<types::$enumeration>(),
            },)*
            $(Shape {
                name: stringify!($structure),
                encoding_id: $id,
                form: Form::Structure(&[$(field!($field)),*]),
                size: size_of::<types::$structure>(),
            },)*
        ];

        static TABLE: [Shape; COUNT] = SHAPES;

        const fn built_in_min_len(kind: Kind) -> usize {
            match kind {
                $(Kind::$built_in => $least,)*
                _ => 4,
            }
        }

        impl Kind {
            /// Every kind of the table.
            pub const ALL: &[Kind] = &[
                $(Kind::$built_in,)*
                $(Kind::$enumeration,)*
                $(Kind::$structure,)*
            ];

            /// The line of the table.
            pub const fn shape(self) -> &'static Shape {
                &TABLE[self as usize]
            }

            /// The structure whose Default Binary encoding has this id in namespace 0.
            pub fn from_encoding_id(id: u32) -> Option<Kind> {
                match id {
                    $($id => Some(Kind::$structure),)*
                    _ => None,
                }
            }

            /// What JSON has of a structure and the bytes have not; None of other kinds.
            pub(crate) fn names(self) -> Option<&'static Names> {
                match self {
                    $(Kind::$structure => Some(&Names {
                        data_type: $data_type,
                        fields: &[$(stringify!($name)),*],
                    }),)*
                    _ => None,
                }
            }

            /// The structure whose DataType has this id in namespace 0.
            pub(crate) fn from_data_type(id: u32) -> Option<Kind> {
                match id {
                    $($data_type => Some(Kind::$structure),)*
                    _ => None,
                }
            }

            /// The name of a value of an enumeration, if it has one.
            pub(crate) fn value_name(self, value: i32) -> Option<String> {
                match self {
                    $(Kind::$enumeration => {
                        types::$enumeration::try_from(value).ok().map(|it| format!("{it:?}"))
                    })*
                    _ => None,
                }
            }
        }
    };
}

pub(super) use shapes;

//! Macro for enums whose values have names: each value stands once, with its name.

/// Declares an enum of values with names: `ALL` are the values in the order of their declaration,
/// `name` is the name of a value.
///
/// ```
/// treering_model::named_enum! {
///     /// Colour of a sign.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum SignColour {
///         /// Stop.
///         Red = "red",
///         /// Go.
///         Green = "green",
///     }
/// }
/// assert_eq!(SignColour::ALL.map(SignColour::name), ["red", "green"]);
/// ```
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$about:meta])*
        $vis:vis enum $type:ident { $($(#[$of:meta])* $value:ident = $name:literal,)+ }
    ) => {
        $(#[$about])*
        $vis enum $type {
            $($(#[$of])* $value,)+
        }

        impl $type {
            /// All values, in the order of their declaration.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Name of the value.
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}

//! Faults of operations, planned by tests of other crates. Only the feature `faults` compiles them.

#[cfg(feature = "faults")]
mod planned;

#[cfg(feature = "faults")]
pub(crate) use self::planned::operation_of;
#[cfg(feature = "faults")]
pub use self::planned::{Fault, Faults, without_faults};

#[cfg(not(feature = "faults"))]
#[derive(Default)]
pub(crate) struct Faults {}

#[cfg(not(feature = "faults"))]
impl Faults {
    pub(crate) fn inject<C>(&self, _operation: &'static str, call: C) -> C {
        call
    }
}

#[cfg(not(feature = "faults"))]
#[expect(
    clippy::extra_unused_type_parameters,
    reason = "with faults it is the name of this type that counts"
)]
pub(crate) fn operation_of<W>() -> &'static str {
    ""
}

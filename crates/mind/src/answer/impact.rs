//! Parsing of emotional impacts in answers.

use memory::nodes::IMPACT_MAX;

use super::member::Member;

/// An impact as given by a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Impact {
    /// A whole number within ±10 (2.0 is whole).
    Valid(i8),
    /// A number beyond the bounds.
    OutOfRange(f64),
    /// A number that is not whole.
    Fraction(f64),
    /// A boolean, a string, or null.
    NoNumber,
}

impl Impact {
    pub(crate) fn from_member(given: &Member<f64>) -> Self {
        let Some(&number) = given.get() else { return Impact::NoNumber };
        if number.fract() != 0.0 {
            return Impact::Fraction(number);
        }
        let bound = f64::from(IMPACT_MAX);
        if !(-bound..=bound).contains(&number) {
            return Impact::OutOfRange(number);
        }
        // Whole and within ±10, so the conversion is exact.
        Impact::Valid(number as i8)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_whole_numbers_within_bounds_are_impacts() {
        for (value, expected) in [
            (json!(-10), Impact::Valid(-10)),
            (json!(10), Impact::Valid(10)),
            (json!(2.0), Impact::Valid(2)),
            (json!(-0.0), Impact::Valid(0)),
            (json!(2.5), Impact::Fraction(2.5)),
            (json!(11), Impact::OutOfRange(11.0)),
            (json!(-1e300), Impact::OutOfRange(-1e300)),
            (json!(true), Impact::NoNumber),
            (json!("5"), Impact::NoNumber),
            (json!(null), Impact::NoNumber),
        ] {
            let given: Member<f64> = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(Impact::from_member(&given), expected, "{value}");
        }
        assert_eq!(Impact::from_member(&Member::Missing), Impact::NoNumber);
    }
}

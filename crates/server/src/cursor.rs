//! Where a page ended. A cursor names a place in the order of a list, not a row: so it stands when the row is gone.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// Longest cursor that is read, in bytes.
const LENGTH_MAX: usize = 1_024;

/// A place, opaque on the wire: JSON in hexadecimal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place<T>(pub(crate) T);

impl<T: Serialize + DeserializeOwned> Place<T> {
    /// Reads what [`Place::written`] wrote.
    pub(crate) fn read(text: &str) -> Result<Self, Problem> {
        let place = (text.len() <= LENGTH_MAX && text.len().is_multiple_of(2)).then(|| bytes(text)).flatten();
        let place = place.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        place.map(Self).ok_or_else(not_a_cursor)
    }

    /// As it goes to the client.
    pub(crate) fn written(&self) -> String {
        let json = serde_json::to_vec(&self.0).unwrap_or_default();
        json.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The refusal of what no page ended with.
pub(crate) fn not_a_cursor() -> Problem {
    Problem::unprocessable("cursor: it has to be the next_cursor of an earlier page").with_code("bad_cursor")
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    digits.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_its_trip() {
        for place in [(0.1 + 0.2, i64::MAX), (f64::MIN_POSITIVE, -1), (1.0, 0)] {
            assert_eq!(Place::<(f64, i64)>::read(&Place(place).written()).ok(), Some(Place(place)));
        }
        for bad in ["", "5", "zz", "猫猫", "5b5d", &"0".repeat(2_000)] {
            assert!(Place::<(f64, i64)>::read(bad).is_err(), "{bad}");
        }
    }
}

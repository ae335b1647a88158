//! Pagination. A cursor is a position in the order of a list, not a row, so it stays valid when the row is deleted.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::extract::{LIST_LIMIT_MAX, page_size};
use crate::problem::Problem;

/// Maximum bytes of a cursor. The longest one that is issued has about 200.
const LENGTH_MAX: usize = 1_024;

/// A position in a list, opaque on the wire: JSON in hexadecimal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cursor<T>(pub(crate) T);

impl<T: Serialize + DeserializeOwned> Cursor<T> {
    /// Parses the output of [`Cursor::encode`].
    pub(crate) fn read(text: &str) -> Result<Self, Problem> {
        let place =
            (text.len() <= LENGTH_MAX && text.len().is_multiple_of(2)).then(|| decode_bytes(text)).flatten();
        let place = place.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        place.map(Self).ok_or_else(not_a_cursor)
    }

    /// Encodes the cursor for the client.
    pub(crate) fn encode(&self) -> String {
        let json = serde_json::to_vec(&self.0).unwrap_or_default();
        json.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct PageQuery {
    pub(crate) limit: Option<u32>,
    /// The `next_cursor` of the preceding page.
    pub(crate) cursor: Option<String>,
}

impl PageQuery {
    /// A page of a list in memory, and the cursor of the next one. The list is sorted by `place`, which must be
    /// unique.
    pub(crate) fn slice_page<T, K>(
        &self,
        mut all: Vec<T>,
        place: impl Fn(&T) -> K,
    ) -> Result<(Vec<T>, Option<String>), Problem>
    where
        K: Ord + Serialize + DeserializeOwned,
    {
        let limit = page_size(self.limit, LIST_LIMIT_MAX)? as usize;
        let last = self.cursor.as_deref().map(Cursor::<K>::read).transpose()?;
        all.sort_by_cached_key(&place);
        let mut rest =
            all.into_iter().filter(|item| last.as_ref().is_none_or(|Cursor(last)| place(item) > *last));
        let page: Vec<T> = rest.by_ref().take(limit).collect();
        let next = rest.next().and_then(|_| page.last()).map(|last| Cursor(place(last)).encode());
        Ok((page, next))
    }
}

/// Cuts a result of `limit` + 1 rows to a page, and returns the position of its end if there are more.
pub(crate) fn page_of<T, K>(
    mut found: Vec<T>,
    limit: u32,
    place: impl FnOnce(&T) -> K,
) -> (Vec<T>, Option<K>) {
    let has_more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next = found.last().filter(|_| has_more).map(place);
    (found, next)
}

/// The error for a cursor that no page returned.
pub(crate) fn not_a_cursor() -> Problem {
    Problem::unprocessable("cursor: must be the next_cursor of an earlier page").with_code("bad_cursor")
}

fn decode_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    digits.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_round_trips() {
        for place in [(0.1 + 0.2, i64::MAX), (f64::MIN_POSITIVE, -1), (1.0, 0)] {
            assert_eq!(Cursor::<(f64, i64)>::read(&Cursor(place).encode()).ok(), Some(Cursor(place)));
        }
        let page = |limit, cursor: Option<String>| {
            let paging = PageQuery { limit: Some(limit), cursor };
            paging.slice_page(vec![3, 1, 2], |number| std::cmp::Reverse(*number)).unwrap()
        };
        let (first, next) = page(2, None);
        assert_eq!((first, page(2, next)), (vec![3, 2], (vec![1], None)));
        assert_eq!(page(3, None).1, None, "nothing is behind it");
        assert_eq!(page_of(vec![3, 2, 1], 2, |number| *number), (vec![3, 2], Some(2)));
        assert_eq!(page_of(vec![3, 2], 2, |number| *number), (vec![3, 2], None));
        for bad in ["", "5", "zz", "猫猫", "5b5d", &"0".repeat(2_000)] {
            assert!(Cursor::<(f64, i64)>::read(bad).is_err(), "{bad}");
        }
    }
}

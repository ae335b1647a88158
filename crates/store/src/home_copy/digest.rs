use sha2::{Digest as _, Sha256};

use crate::engine::sql::{Result, ValueRef};

/// Content of a table, independent of order: number of rows, and sum of their digests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TableDigest {
    pub(super) rows: u64,
    sum: [u64; 4],
}

impl TableDigest {
    pub(super) fn add(&mut self, values: &[ValueRef<'_>]) -> Result<()> {
        let mut row = Sha256::new();
        for value in values {
            let mut part = |kind: u8, bytes: &[u8]| {
                row.update([kind]);
                row.update((bytes.len() as u64).to_le_bytes());
                row.update(bytes);
            };
            match value {
                ValueRef::Null => part(0, &[]),
                ValueRef::Integer(number) => part(1, &number.to_le_bytes()),
                // SQLite does not preserve the sign of zero.
                ValueRef::Real(number) => part(2, &(number + 0.0).to_le_bytes()),
                ValueRef::Text(text) => part(3, text),
                ValueRef::Blob(bytes) => part(4, bytes),
            }
        }
        let row = row.finalize();
        for (sum, part) in self.sum.iter_mut().zip(row.chunks_exact(8)) {
            let part = part.iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
            *sum = sum.wrapping_add(part);
        }
        self.rows += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(rows: &[&[ValueRef<'_>]]) -> TableDigest {
        let mut digest = TableDigest::default();
        rows.iter().for_each(|row| digest.add(row).unwrap());
        digest
    }

    #[test]
    fn the_digest_depends_on_values_and_not_on_row_order() {
        let (one, two) =
            ([ValueRef::Text(b"a"), ValueRef::Null], [ValueRef::Text(b""), ValueRef::Text(b"a")]);
        assert_eq!(digest(&[&one, &two]), digest(&[&two, &one]));
        assert_ne!(digest(&[&one]), digest(&[&two]));
        assert_ne!(digest(&[&one]), digest(&[&one, &one]));
        assert_ne!(digest(&[&[ValueRef::Integer(1)]]), digest(&[&[ValueRef::Real(1.0)]]));
        assert_eq!(digest(&[&[ValueRef::Real(-0.0)]]), digest(&[&[ValueRef::Real(0.0)]]));
    }
}

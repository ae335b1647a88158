//! Products of codes on the widest registers that the processor has. Left to itself the compiler multiplies on eight
//! lanes, whatever there is.

use pulp::{Arch, NullaryFnOnce};

/// Sixteen-bit lanes, and what multiplies them in pairs and adds the products up.
pub(super) trait Registers: Copy + Send + Sync {
    /// Some lanes of a row or a query.
    type Lanes: Copy + Send + Sync;
    /// Sums that grow.
    type Sums: Copy;

    /// Codes as lanes; where they end, zeros.
    fn lanes(self, codes: &[i8]) -> Vec<Self::Lanes>;
    /// [`Self::lanes`] in the place of those that are there, one for one.
    fn replace(self, lanes: &mut [Self::Lanes], codes: &[i8]);
    /// Sums of nothing.
    fn none(self) -> Self::Sums;
    /// Adds products.
    fn add(self, sums: Self::Sums, a: Self::Lanes, b: Self::Lanes) -> Self::Sums;
    /// All sums in one. Products of a few thousand codes stay far below 2^31.
    fn total(self, sums: Self::Sums) -> i32;
    /// Runs what is compiled for these registers.
    fn run<Work: NullaryFnOnce>(self, work: Work) -> Work::Output;
}

/// The product of a row with a query of the same lanes.
#[inline(always)]
pub(super) fn product<R: Registers>(registers: R, row: &[R::Lanes], query: &[R::Lanes]) -> i32 {
    let (row, row_rest) = row.as_chunks::<2>();
    let (query, query_rest) = query.as_chunks::<2>();
    let (mut even, mut odd) = (registers.none(), registers.none());
    for (row, query) in row.iter().zip(query) {
        even = registers.add(even, row[0], query[0]);
        odd = registers.add(odd, row[1], query[1]);
    }
    for (&row, &query) in row_rest.iter().zip(query_rest) {
        even = registers.add(even, row, query);
    }
    registers.total(even) + registers.total(odd)
}

/// What any processor can do.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Registers for Plain {
    type Lanes = [i16; 8];
    type Sums = [i32; 4];

    #[inline(always)]
    fn lanes(self, codes: &[i8]) -> Vec<[i16; 8]> {
        let mut lanes = vec![[0; 8]; codes.len().div_ceil(8)];
        self.replace(&mut lanes, codes);
        lanes
    }

    #[inline(always)]
    fn replace(self, lanes: &mut [[i16; 8]], codes: &[i8]) {
        for (lanes, codes) in lanes.iter_mut().zip(codes.chunks(8)) {
            for (lane, &code) in lanes.iter_mut().zip(codes) {
                *lane = i16::from(code);
            }
        }
    }

    #[inline(always)]
    fn none(self) -> [i32; 4] {
        [0; 4]
    }

    #[inline(always)]
    fn add(self, mut sums: [i32; 4], a: [i16; 8], b: [i16; 8]) -> [i32; 4] {
        let pairs = a.as_chunks::<2>().0.iter().zip(b.as_chunks::<2>().0);
        for (sum, (a, b)) in sums.iter_mut().zip(pairs) {
            *sum += i32::from(a[0]) * i32::from(b[0]) + i32::from(a[1]) * i32::from(b[1]);
        }
        sums
    }

    #[inline(always)]
    fn total(self, sums: [i32; 4]) -> i32 {
        sums.iter().sum()
    }

    fn run<Work: NullaryFnOnce>(self, work: Work) -> Work::Output {
        Arch::new().dispatch(work)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256i, __m512i};

    use pulp::x86::{V3, V4};
    use pulp::{NullaryFnOnce, cast};

    use super::Registers;

    macro_rules! registers {
        ($level:ty, $register:ty, $lanes:literal, $zero:expr, $widen:expr, $add:expr) => {
            impl Registers for $level {
                type Lanes = $register;
                type Sums = $register;

                #[inline(always)]
                fn lanes(self, codes: &[i8]) -> Vec<$register> {
                    let mut lanes = vec![self.none(); codes.len().div_ceil($lanes)];
                    self.replace(&mut lanes, codes);
                    lanes
                }

                #[inline(always)]
                fn replace(self, lanes: &mut [$register], codes: &[i8]) {
                    let (whole, rest) = codes.as_chunks::<$lanes>();
                    for (lanes, codes) in lanes.iter_mut().zip(whole) {
                        *lanes = $widen(self, *codes);
                    }
                    if let (Some(last), false) = (lanes.get_mut(whole.len()), rest.is_empty()) {
                        let mut codes = [0; $lanes];
                        codes[..rest.len()].copy_from_slice(rest);
                        *last = $widen(self, codes);
                    }
                }

                #[inline(always)]
                fn none(self) -> $register {
                    $zero(self)
                }

                #[inline(always)]
                fn add(self, sums: $register, a: $register, b: $register) -> $register {
                    $add(self, sums, a, b)
                }

                #[inline(always)]
                fn total(self, sums: $register) -> i32 {
                    let sums: [i32; $lanes / 2] = cast(sums);
                    sums.iter().sum()
                }

                #[inline(always)]
                fn run<Work: NullaryFnOnce>(self, work: Work) -> Work::Output {
                    self.vectorize(work)
                }
            }
        };
    }

    registers!(
        V3,
        __m256i,
        16,
        |level: V3| level.avx._mm256_setzero_si256(),
        |level: V3, codes: [i8; 16]| level.avx2._mm256_cvtepi8_epi16(cast(codes)),
        |level: V3, sums, a, b| level.avx2._mm256_add_epi32(sums, level.avx2._mm256_madd_epi16(a, b))
    );
    registers!(
        V4,
        __m512i,
        32,
        |level: V4| level.avx512f._mm512_setzero_si512(),
        |level: V4, codes: [i8; 32]| level.avx512bw._mm512_cvtepi8_epi16(cast(codes)),
        |level: V4, sums, a, b| level.avx512f._mm512_add_epi32(sums, level.avx512bw._mm512_madd_epi16(a, b))
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of<R: Registers>(registers: R, row: &[i8], query: &[i8]) -> i32 {
        product(registers, &registers.lanes(row), &registers.lanes(query))
    }

    proptest! {
        #[test]
        fn all_registers_give_the_same(pairs in prop::collection::vec((any::<i8>(), any::<i8>()), 0..200)) {
            let (row, query): (Vec<i8>, Vec<i8>) = pairs.into_iter().unzip();
            let sum: i32 = row.iter().zip(&query).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
            prop_assert_eq!(of(Plain, &row, &query), sum);
            #[cfg(target_arch = "x86_64")]
            {
                if let Some(level) = pulp::x86::V3::try_new() {
                    prop_assert_eq!(of(level, &row, &query), sum);
                }
                if let Some(level) = pulp::x86::V4::try_new() {
                    prop_assert_eq!(of(level, &row, &query), sum);
                }
            }
        }
    }
}

//! Whole numbers in as few bytes as the largest of them needs.

/// A column of whole numbers that may be null.
pub enum Narrow {
    /// All are the same.
    Same(Option<i64>),
    /// None is negative, and all are below the largest number of the type, which stands for null.
    Bytes(Box<[u8]>),
    /// Numbers of 16 bits, with the same rule.
    Shorts(Box<[u16]>),
    /// Numbers of 32 bits, with the same rule.
    Words(Box<[u32]>),
    /// Anything else.
    Wide(Box<[Option<i64>]>),
}

impl Narrow {
    /// Holds these.
    pub fn new(values: &[Option<i64>]) -> Narrow {
        let first = values.first().copied().flatten();
        if values.iter().all(|value| *value == first) {
            return Narrow::Same(first);
        }
        let (mut least, mut most) = (0, 0);
        for value in values.iter().flatten() {
            (least, most) = (least.min(*value), most.max(*value));
        }
        macro_rules! as_type {
            ($ty:ty) => {
                values.iter().map(|value| value.map_or(<$ty>::MAX, |value| value as $ty)).collect()
            };
        }
        match most {
            _ if least < 0 => Narrow::Wide(values.into()),
            ..0xff => Narrow::Bytes(as_type!(u8)),
            0xff..0xffff => Narrow::Shorts(as_type!(u16)),
            0xffff..0xffff_ffff => Narrow::Words(as_type!(u32)),
            _ => Narrow::Wide(values.into()),
        }
    }

    /// Number `i`, of as many as there are.
    pub fn get(&self, i: usize) -> Option<i64> {
        match self {
            Narrow::Same(value) => *value,
            Narrow::Bytes(values) => values.get(i).filter(|v| **v != u8::MAX).map(|v| i64::from(*v)),
            Narrow::Shorts(values) => values.get(i).filter(|v| **v != u16::MAX).map(|v| i64::from(*v)),
            Narrow::Words(values) => values.get(i).filter(|v| **v != u32::MAX).map(|v| i64::from(*v)),
            Narrow::Wide(values) => values.get(i).copied().flatten(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were_however_narrow_they_are_kept() {
        let edges =
            [0xfe, 0xff, 0x100, 0xfffe, 0xffff, 0x1_0000, 0xffff_fffe, 0xffff_ffff, 0x1_0000_0000, i64::MAX];
        for edge in edges.into_iter().chain([-1, i64::MIN]) {
            for values in [vec![Some(0), Some(edge), None, Some(7)], vec![Some(edge); 3], vec![None, Some(edge)]] {
                let narrow = Narrow::new(&values);
                let back: Vec<Option<i64>> = (0..values.len()).map(|i| narrow.get(i)).collect();
                assert_eq!(back, values, "{edge}");
            }
        }
        assert_eq!(Narrow::new(&[]).get(0), None);
        assert!(matches!(Narrow::new(&[Some(254), None]), Narrow::Bytes(_)));
        assert!(matches!(Narrow::new(&[Some(255), None]), Narrow::Shorts(_)));
    }
}

//! Records that BPF programs write or read: structures whose fields C and Rust have at the same offsets.

pub use aya::Pod;

/// Returns the record at the beginning of `octets`; `None` if they are too few.
#[must_use]
pub fn read<T: Pod>(octets: &[u8]) -> Option<T> {
    // SAFETY: as many octets as `T` has, any of which are a valid `T`.
    (octets.len() >= size_of::<T>())
        .then(|| unsafe { octets.as_ptr().cast::<T>().read_unaligned() })
}

/// Returns the records that follow each other in `octets`.
pub fn each<T: Pod>(octets: &[u8]) -> impl Iterator<Item = T> {
    octets.chunks_exact(size_of::<T>()).filter_map(read)
}

/// Returns the octets of a record.
pub fn octets<T: Pod>(record: &T) -> &[u8] {
    // SAFETY: a record has no padding, so each of its octets has a value.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(record).cast(), size_of::<T>()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_too_few_octets_are_no_record() {
        let octets = octets(&0x0102_0304_u32).to_vec();
        assert_eq!(read::<u32>(&octets), Some(0x0102_0304));
        assert_eq!(read::<u32>(&octets[..3]), None);
        let two = [octets.clone(), octets, vec![9]].concat();
        assert_eq!(each::<u32>(&two).count(), 2);
    }
}

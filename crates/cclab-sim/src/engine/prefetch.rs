//! Memory that is soon needed.

/// Asks the processor to fetch the first `bytes` of `value`. Where the state of many flows fits no cache, a line of memory that
/// is waited for costs as much as a thousand instructions, and one that was asked for a few events before next to nothing.
/// Asking for what is not needed costs, too.
#[inline(always)]
pub fn prefetch<T: ?Sized>(value: &T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..bytes.min(size_of_val(value))).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::from_ref(value).cast::<i8>().wrapping_add(offset);
        #[expect(unsafe_code, reason = "a hint: it neither reads nor writes, and may be given any address")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, bytes);
}

//! `bytes` objects that are filled in place.

use std::{io, slice};

use pyo3::exceptions::{PyMemoryError, PyOSError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Makes a `bytes` of this length. `fill` writes all of it or fails; before that, the memory holds arbitrary old bytes.
///
/// # Errors
///
/// `OSError` of `fill`; `MemoryError`.
pub(crate) fn filled_bytes(
    py: Python<'_>,
    length: usize,
    fill: impl FnOnce(&mut [u8]) -> io::Result<()>,
) -> PyResult<Bound<'_, PyBytes>> {
    let size = isize::try_from(length).map_err(|_| PyMemoryError::new_err("a request body is too large"))?;
    // SAFETY: without a source the object has `length` bytes that nobody has written, and is a `bytes`.
    let made = unsafe {
        let object = ffi::PyBytes_FromStringAndSize(std::ptr::null(), size);
        Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked::<PyBytes>()
    };
    if length > 0 {
        // SAFETY: nobody else has the object yet. Its memory comes from the interpreter's allocator, so that it holds
        // old values, which `fill` overwrites.
        let target =
            unsafe { slice::from_raw_parts_mut(ffi::PyBytes_AsString(made.as_ptr()).cast::<u8>(), length) };
        fill(target).map_err(|error| PyOSError::new_err(error.to_string()))?;
    }
    Ok(made)
}

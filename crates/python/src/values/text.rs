//! `str` and bytes, as WSGI has them: every byte is the code point of the same number (latin-1).

use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// Makes a `str` with one code point for each byte (PEP 3333, "A Note on String Types").
pub(crate) fn latin1<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    let length = isize::try_from(bytes.len()).unwrap_or(isize::MAX);
    let text = if bytes.is_ascii() {
        // SAFETY: attached (`py`). The new object has room for `length` one-byte code points, and no other code has
        // seen it yet.
        unsafe {
            let text = ffi::PyUnicode_New(length, 127);
            if !text.is_null() {
                let data = ffi::PyUnicode_1BYTE_DATA(text);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len());
            }
            text
        }
    } else {
        // SAFETY: attached; `bytes` is valid for `length` reads.
        unsafe { ffi::PyUnicode_DecodeLatin1(bytes.as_ptr().cast(), length, std::ptr::null()) }
    };
    // SAFETY: both calls return a new reference to a `str`, or null with an exception set.
    unsafe { Ok(Bound::from_owned_ptr_or_err(py, text)?.cast_into_unchecked()) }
}

/// The bytes of a `str` whose code points are all below 256.
///
/// # Errors
///
/// `UnicodeEncodeError` that names `what`.
pub(crate) fn latin1_bytes<'t>(text: &'t Bound<'_, PyString>, what: &str) -> PyResult<&'t [u8]> {
    let object = text.as_ptr();
    // SAFETY: `object` is a `str`; its kind, length and data do not change while it lives, and
    // `text` keeps it alive for `'t`.
    unsafe {
        if ffi::PyUnicode_KIND(object) == ffi::PyUnicode_1BYTE_KIND {
            let length = usize::try_from(ffi::PyUnicode_GET_LENGTH(object)).unwrap_or(0);
            return Ok(std::slice::from_raw_parts(ffi::PyUnicode_1BYTE_DATA(object), length));
        }
    }
    let characters = text.to_string_lossy();
    let position = characters.chars().position(|character| u32::from(character) > 255).unwrap_or(0);
    Err(PyUnicodeEncodeError::new_err((
        "latin-1",
        text.clone().unbind(),
        position,
        position + 1,
        format!("{what} may only have characters below 256 (PEP 3333)"),
    )))
}

/// Returns `object` if it is a `bytes` and no subclass, as PEP 3333 asks of a body's items.
pub(crate) fn exact_bytes<'a, 'py>(object: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyBytes>> {
    object.cast_exact::<PyBytes>().ok()
}

/// The name of an object's type, for messages.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "an object".into(), |name| name.to_string())
}

/// A message on one line: a value that was typed may hold control characters.
pub(crate) fn one_line(message: &str) -> String {
    let escape =
        |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.into() };
    message.chars().map(escape).collect()
}

/// The environment variables of this process, as text.
pub(crate) fn environment() -> Vec<(String, String)> {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

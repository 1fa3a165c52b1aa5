//! Header fields that an application states in every answer are checked once.
//!
//! They are constants of its code: the same objects each time.

use adyton_http::CheckedField;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// How many are known at once, each in one of the two places that its address gives it: with a single one, two fields of one
/// answer that share it would be looked at again with every request.
const PLACES: usize = 64;

/// The fields that are known.
pub(crate) struct Fields {
    places: [Option<Known>; PLACES],
}

impl Default for Fields {
    fn default() -> Self {
        Self { places: [const { None }; PLACES] }
    }
}

struct Known {
    /// Held, so that no other can have its address. Its items are `str` and no subclasses: it never changes, and no
    /// code runs when it is dropped.
    pair: Py<PyTuple>,
    field: CheckedField,
}

impl Fields {
    /// What is known of this very tuple.
    #[inline]
    pub(crate) fn find(&self, pair: &Bound<'_, PyTuple>) -> Option<&CheckedField> {
        let place = place(pair);
        self.known_at(place, pair).or_else(|| self.known_at(place ^ 1, pair))
    }

    #[inline]
    fn known_at(&self, place: usize, pair: &Bound<'_, PyTuple>) -> Option<&CheckedField> {
        let known = self.places[place].as_ref()?;
        (known.pair.as_ptr() == pair.as_ptr()).then_some(&known.field)
    }

    /// Whether it is worth knowing: something else than the list in which it came holds it, so it may come again.
    #[inline]
    pub(crate) fn wants(pair: &Bound<'_, PyTuple>) -> bool {
        // SAFETY: attached, and the object is alive.
        unsafe { ffi::Py_REFCNT(pair.as_ptr()) > REFERENCES_OF_A_CALL }
    }

    /// Keeps what a look at this tuple of two has found.
    pub(crate) fn keep(&mut self, pair: &Bound<'_, PyTuple>, field: CheckedField) {
        if pair.iter_borrowed().all(|item| item.is_exact_instance_of::<PyString>()) {
            let first = place(pair);
            let place = if self.places[first].is_none() || self.places[first ^ 1].is_some() {
                first
            } else {
                first ^ 1
            };
            self.places[place] = Some(Known { pair: pair.clone().unbind(), field });
        }
    }
}

/// That of the list, and our own while we look at it.
const REFERENCES_OF_A_CALL: ffi::Py_ssize_t = 2;

/// Tuples of two that were made together lie 64 bytes from each other, others in other pages.
#[inline]
fn place(pair: &Bound<'_, PyTuple>) -> usize {
    let address = pair.as_ptr() as usize;
    (address >> 6 ^ address >> 12) % PLACES
}

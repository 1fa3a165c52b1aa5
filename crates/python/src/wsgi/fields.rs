//! Remembers checked header fields, so that a field that an application sends in every answer is checked only once.
//!
//! Fields of this kind are constants of the application's code: the same objects each time.

use adyton_http::CheckedField;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// The number of fields that are remembered. The address of a field's tuple allows two places: if it allowed only one,
/// two fields of an answer that share a place would be checked again with every request.
const PLACES: usize = 64;

/// The checked fields.
pub(crate) struct Fields {
    places: [Option<Known>; PLACES],
}

impl Default for Fields {
    fn default() -> Self {
        Self { places: [const { None }; PLACES] }
    }
}

struct Known {
    /// The tuple, held so that no other one can have its address. Its items are `str` and no subclasses: it never
    /// changes, and no code runs when it is dropped.
    pair: Py<PyTuple>,
    field: CheckedField,
}

impl Fields {
    /// The result of the check of this very tuple, if it is remembered.
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

    /// Whether the tuple is worth remembering: something else than its list holds it, so it may come again.
    #[inline]
    pub(crate) fn wants(pair: &Bound<'_, PyTuple>) -> bool {
        // SAFETY: attached, and the object is alive.
        unsafe { ffi::Py_REFCNT(pair.as_ptr()) > REFERENCES_OF_A_CALL }
    }

    /// Remembers the check of this tuple of two.
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

/// References to a tuple that nobody else holds: the list's, and our own while we check it.
const REFERENCES_OF_A_CALL: ffi::Py_ssize_t = 2;

/// The first place of a tuple, by its address. Pairs that are made together lie 64 bytes apart; other pairs lie in
/// other pages.
#[inline]
fn place(pair: &Bound<'_, PyTuple>) -> usize {
    let address = pair.as_ptr() as usize;
    (address >> 6 ^ address >> 12) % PLACES
}

//! Fields of a head (RFC 9110 section 5), as offsets into its bytes.

use crate::{Known, Span};

/// One field of a head, as offsets into its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name, which is a token, as the client spelled it.
    pub name: Span,
    /// The value without the blanks around it; bytes above 127 (obs-text) are kept as they came.
    pub value: Span,
    /// The known name that equals `name`, or [`Known::Other`].
    pub known: Known,
    /// Whether the name holds only letters, digits and hyphens. Other names must not become CGI variables:
    /// `X_Forwarded_For` and `X-Forwarded-For` would become the same variable.
    pub plain: bool,
}

/// The fields of a head in their order, and the set of their names. Clearing the list keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    list: Vec<Field>,
    /// The set of the names in `list`, with a bit for each name.
    seen: u128,
}

impl Fields {
    /// Returns an empty list.
    pub const fn new() -> Fields {
        Fields { list: Vec::new(), seen: 0 }
    }

    /// Removes all fields.
    #[inline]
    pub fn clear(&mut self) {
        self.list.clear();
        self.seen = 0;
    }

    /// Appends a field.
    #[inline]
    pub fn push(&mut self, field: Field) {
        self.seen |= field.known.bit();
        self.list.push(field);
    }

    /// Replaces the value of the first field of this name, if there is one.
    pub fn replace(&mut self, known: Known, value: Span) {
        if let Some(field) = self.list.iter_mut().find(|field| field.known == known) {
            field.value = value;
        }
    }

    /// All fields in their order.
    #[inline]
    pub fn as_slice(&self) -> &[Field] {
        &self.list
    }

    /// Whether there is a field whose name is in this set; sets are made of [`Known::bit`].
    #[inline]
    pub fn has_any(&self, names: u128) -> bool {
        self.seen & names != 0
    }

    /// Whether there is a field of this name. For [`Known::Other`]: whether there is a field whose name is not a known
    /// one.
    #[inline]
    pub fn has(&self, known: Known) -> bool {
        self.has_any(known.bit())
    }

    /// The value of the first field of this name.
    #[inline]
    pub fn first(&self, known: Known) -> Option<Span> {
        if self.has(known) { self.all(known).next() } else { None }
    }

    /// The values of all fields of this name, in their order.
    #[inline]
    pub fn all(&self, known: Known) -> impl Iterator<Item = Span> + '_ {
        self.list.iter().filter(move |field| field.known == known).map(|field| field.value)
    }
}

//! Fields of a head, RFC 9110 section 5, as offsets.

use crate::{Known, Span};

/// One field of a head, as offsets into its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// A token, as the client spelled it.
    pub name: Span,
    /// The value without the blanks around it; obs-text is kept as it came.
    pub value: Span,
    /// The known name that this is, or [`Known::Other`].
    pub known: Known,
    /// Whether the name holds letters, digits and hyphens only. Other names must not become CGI variables: there,
    /// `X_Forwarded_For` would pass for `X-Forwarded-For`.
    pub plain: bool,
}

/// The fields of a head in their order, and the set of their names. Clearing it keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    list: Vec<Field>,
    /// The names in `list`, a bit for each.
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

    /// Gives the first field of this name another value, if there is one.
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

    /// Whether there is a field of a name in this set, which is made of [`Known::bit`].
    #[inline]
    pub fn has_any(&self, names: u128) -> bool {
        self.seen & names != 0
    }

    /// Whether there is a field of this name. For [`Known::Other`]: whether there is one whose name is not
    /// known.
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

//! The configuration as a value, and the places of its parts.

use std::sync::Arc;

use crate::model::Place;
use crate::text::literal::{Item, Node};

/// The whole configuration.
pub(super) struct Unit<'c> {
    pub(super) root: &'c Node,
    file: &'c Arc<str>,
}

impl<'c> Unit<'c> {
    pub(super) fn new(root: &'c Node, file: &'c Arc<str>) -> Unit<'c> {
        Unit { root, file }
    }

    pub(super) fn place(&self, node: &Node) -> Place {
        Place { file: Arc::clone(self.file), line: node.line }
    }
}

/// Returns a value on one line, for messages.
pub(super) fn shown(node: &Node) -> String {
    match &node.item {
        Item::Null => "null".to_owned(),
        Item::Switch(on) => on.to_string(),
        Item::Number(text) | Item::Text(text) => text.clone(),
        Item::List(list) => list.iter().map(shown).collect::<Vec<_>>().join(", "),
        Item::Map(pairs) => {
            pairs.iter().map(|(name, node)| format!("{name} {}", shown(node))).collect::<Vec<_>>().join(", ")
        }
    }
}

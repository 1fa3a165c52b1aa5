//! Redirects to https that are not carried over.

use crate::apache::language::line::Line;
use crate::apache::mapping;
use crate::apache::section::Sections;
use crate::model::{Draft, Place};

/// Finds redirects to https that are lost: all rewrite rules, and redirects that stand in a section or have no
/// counterpart.
pub(crate) fn lost_ways(lines: &[Line], sections: &Sections) -> Vec<(Place, String)> {
    let is_redirect = |line: &&Line| line.name.starts_with("redirect") && leads(line);
    let inside = sections.folders.iter().chain(&sections.paths).flat_map(|(_, lines)| lines);
    let others = sections.others.iter().chain(sections.files.iter().map(|(_, line)| line));
    let inside: Vec<&Line> = inside.chain(others.flat_map(|line| &line.inside)).collect();
    let rules = lines.iter().chain(inside.iter().copied());
    let rules = rules.filter(|line| line.name == "rewriterule" && leads(line));
    let misplaced = inside.iter().copied().filter(is_redirect);
    let is_lost = |line: &&Line| mapping::read(std::slice::from_ref(*line), &mut Draft::default()).is_empty();
    let lost = lines.iter().filter(is_redirect).filter(is_lost);
    rules.chain(misplaced).chain(lost).map(|line| (line.place.clone(), line.text.clone())).collect()
}

/// Whether the target is https.
fn leads(line: &Line) -> bool {
    line.args.iter().any(|arg| arg.to_ascii_lowercase().starts_with("https:"))
}

//! The rules of a site that apply to paths before routes are looked for.

use crate::denied::DeniedPaths;
use crate::path::PathPattern;
use crate::rewrite::Rewrites;

/// The rules of a site that come before its routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// Paths that are refused to everybody.
    pub denied: DeniedPaths,
    /// Rewrites of other paths.
    pub rewrites: Rewrites,
}

/// A rule that keeps a request from the routes of its own path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AheadRule<'a> {
    /// The path is refused to everybody, by this pattern.
    Denied(&'a PathPattern),
    /// The request has this target from here on: a path and a query.
    Rewritten(Vec<u8>),
}

impl Ahead {
    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.denied.is_empty() && self.rewrites.is_empty()
    }

    /// Returns the rule for a path in its one spelling ([`crate::spelled`]). `may_rewrite`: no rule has rewritten the
    /// target before.
    pub fn rule(&self, path: &[u8], query: &[u8], may_rewrite: bool) -> Option<AheadRule<'_>> {
        if let Some(pattern) = self.denied.find(path) {
            return Some(AheadRule::Denied(pattern));
        }
        if may_rewrite { self.rewrites.target(path, query).map(AheadRule::Rewritten) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ahead, AheadRule};
    use crate::PathPattern;

    #[test]
    fn what_is_denied_is_not_rewritten() {
        let mut ahead = Ahead::default();
        assert!(ahead.is_empty());
        let secret = PathPattern::Prefix(b"/old/secret"[..].into());
        ahead.denied.add(secret.clone());
        let old = PathPattern::Prefix(b"/old"[..].into());
        assert_eq!(Ok(()), ahead.rewrites.add_path(old, "/new/"));

        assert_eq!(Some(AheadRule::Denied(&secret)), ahead.rule(b"/old/secret/x", b"", true));
        let new = AheadRule::Rewritten(b"/new/x".to_vec());
        assert_eq!(Some(new), ahead.rule(b"/old/x", b"", true));
        assert_eq!(None, ahead.rule(b"/old/x", b"", false));
    }
}

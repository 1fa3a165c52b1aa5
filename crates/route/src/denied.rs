//! Paths that are refused to everybody, whatever the routes are.

use crate::path::PathPattern;

/// Paths of a site that are refused before its routes are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeniedPaths(Vec<PathPattern>);

/// Suffixes that a precompressed file adds to the name of its original.
pub const COMPRESSED_ENDS: [&str; 3] = [".br", ".zst", ".gz"];

impl DeniedPaths {
    /// Adds a pattern.
    pub fn add(&mut self, pattern: PathPattern) {
        self.0.push(pattern);
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All patterns, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &PathPattern> {
        self.0.iter()
    }

    /// The pattern that refuses a path in its one spelling ([`crate::spelled`]).
    ///
    /// A path beneath a refused path is refused, too, because a script answers for all paths behind its name. The name
    /// of the compressed form of a refused file is refused as well.
    pub fn find(&self, path: &[u8]) -> Option<&PathPattern> {
        let mut name = path;
        let compressed = std::iter::from_fn(|| {
            let mut ends = COMPRESSED_ENDS.iter();
            name = ends.find_map(|end| name.strip_suffix(end.as_bytes()))?;
            Some(name)
        });
        let compressed: Vec<&[u8]> = compressed.collect();
        let above = memchr::memchr_iter(b'/', path).filter(|&at| at > 0).map(|at| &path[..at]);
        let mut all = above.chain([path]).chain(compressed);
        all.find_map(|part| self.0.iter().find(|pattern| pattern.matches(part)))
    }
}

#[cfg(test)]
mod tests {
    use super::DeniedPaths;
    use crate::PathPattern;

    #[test]
    fn everywhere() {
        let mut denied = DeniedPaths::default();
        assert!(denied.is_empty());
        for pattern in [
            PathPattern::Suffix(b".bak"[..].into()),
            PathPattern::Prefix(b"/.git"[..].into()),
            PathPattern::Exact(b"/a/secret"[..].into()),
        ] {
            denied.add(pattern);
        }
        for (path, is_denied) in [
            ("/x.bak", true),
            ("/static/deep/x.bak", true),
            ("/x.bak/", true),
            ("/x.bak/more", true),
            ("/.bak", true),
            ("/x.bak.gz", true),
            ("/x.bak.zst.br", true),
            ("/x.bak.zip", false),
            ("/x.back", false),
            ("/x.BAK", false),
            ("/.git", true),
            ("/.git/config", true),
            ("/.gitignore", false),
            ("/.git.gz", true),
            ("/a/.git", false),
            ("/a/secret", true),
            ("/a/secret/", true),
            ("/a/secret/x", true),
            ("/a/secrets", false),
            ("/a/", false),
            ("/", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(is_denied, denied.find(path.as_bytes()).is_some(), "{path}");
        }
    }
}

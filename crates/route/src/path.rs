//! Paths, and the routes that they take.

use std::cmp::Reverse;

/// Which paths a route is for. Paths are compared as they were sent, percent-encoded; case matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPattern {
    /// This path alone.
    Exact(Box<[u8]>),
    /// This path, without a slash at its end, and all beneath it: `/app` has `/app` and `/app/x`, and not `/apple`.
    /// The empty one has everything.
    Prefix(Box<[u8]>),
    /// Every path that ends in this, such as `.php`.
    Suffix(Box<[u8]>),
}

impl PathPattern {
    /// Whether `path` is one of these.
    #[inline]
    pub fn matches(&self, path: &[u8]) -> bool {
        match self {
            PathPattern::Exact(exact) => path == &**exact,
            PathPattern::Prefix(prefix) => {
                prefix.is_empty()
                    || path.strip_prefix(&**prefix).is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
            }
            PathPattern::Suffix(end) => path.ends_with(end),
        }
    }

    /// How much of a path that matches is the route's own, and not a name beneath it.
    #[inline]
    pub fn prefix_bytes(&self) -> usize {
        if let PathPattern::Prefix(prefix) = self { prefix.len() } else { 0 }
    }

    /// What is tried first is less.
    fn rank(&self) -> (u8, Reverse<usize>) {
        match self {
            PathPattern::Exact(path) => (0, Reverse(path.len())),
            PathPattern::Prefix(prefix) if !prefix.is_empty() => (1, Reverse(prefix.len())),
            PathPattern::Suffix(end) => (2, Reverse(end.len())),
            PathPattern::Prefix(_) => (3, Reverse(0)),
        }
    }
}

/// The routes of a site, the most specific first.
#[derive(Clone, Debug)]
pub struct Routes<A>(Vec<(PathPattern, A)>);

impl<A> Routes<A> {
    /// The table of these routes; of two that are equally specific the one that comes first is tried first.
    pub fn new(mut routes: Vec<(PathPattern, A)>) -> Routes<A> {
        routes.sort_by_key(|(pattern, _)| pattern.rank());
        Routes(routes)
    }

    /// The routes that a path may take, in the order in which they are tried, each with its number.
    #[inline]
    pub fn of<'r>(&'r self, path: &'r [u8]) -> impl Iterator<Item = (usize, &'r PathPattern, &'r A)> {
        let routes = self.0.iter().enumerate();
        let found = routes.filter(move |(_, (pattern, _))| pattern.matches(path));
        found.map(|(number, (pattern, action))| (number, pattern, action))
    }

    /// The action of the route with this number.
    #[inline]
    pub fn action(&self, number: usize) -> Option<&A> {
        self.0.get(number).map(|(_, action)| action)
    }

    /// All routes, in the order in which they are tried.
    pub fn iter(&self) -> impl Iterator<Item = (&PathPattern, &A)> {
        self.0.iter().map(|(pattern, action)| (pattern, action))
    }
}

#[cfg(test)]
mod tests {
    use super::{PathPattern, Routes};

    fn exact(path: &str) -> PathPattern {
        PathPattern::Exact(path.as_bytes().into())
    }

    fn prefix(path: &str) -> PathPattern {
        PathPattern::Prefix(path.as_bytes().into())
    }

    fn suffix(end: &str) -> PathPattern {
        PathPattern::Suffix(end.as_bytes().into())
    }

    /// Which routes a path may take, and in which order, whatever the order in which they were given.
    #[test]
    fn most_specific_path() {
        let given = vec![
            (prefix(""), "all"),
            (suffix(".php"), "php"),
            (prefix("/a"), "a"),
            (prefix("/a/b"), "a/b"),
            (exact("/a/b"), "exactly a/b"),
            (prefix("/a"), "a again"),
        ];
        let mut turned = given.clone();
        turned.reverse();
        for (routes, [first, second]) in
            [(Routes::new(given), ["a", "a again"]), (Routes::new(turned), ["a again", "a"])]
        {
            let taken = |path: &str| -> Vec<&str> {
                routes.of(path.as_bytes()).map(|(_, _, action)| *action).collect()
            };

            assert_eq!(vec!["all"], taken("/"));
            assert_eq!(vec!["all"], taken(""));
            assert_eq!(vec!["all"], taken("/apple"));
            assert_eq!(vec![first, second, "all"], taken("/a"));
            assert_eq!(vec![first, second, "all"], taken("/a/"));
            assert_eq!(vec![first, second, "all"], taken("/a/bc"));
            assert_eq!(vec!["exactly a/b", "a/b", first, second, "all"], taken("/a/b"));
            assert_eq!(vec!["a/b", first, second, "php", "all"], taken("/a/b/c.php"));
            assert_eq!(vec!["php", "all"], taken("/index.php"));
            let numbers = routes.of(b"/a/b").map(|(number, _, action)| (routes.action(number), action));
            assert!(numbers.into_iter().all(|(found, action)| found == Some(action)));
        }
    }

    #[test]
    fn prefixes_of_names() {
        assert_eq!(
            [2, 0, 0],
            [prefix("/a"), prefix(""), suffix(".py")].map(|pattern| pattern.prefix_bytes())
        );
    }
}

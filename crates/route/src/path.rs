//! Paths, and the routes that they take.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

/// The paths that a route is for; case matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPattern {
    /// One path alone.
    Exact(Box<[u8]>),
    /// A path, without a slash at its end, and all beneath it: `/app` matches `/app` and `/app/x`, but not `/apple`.
    /// The empty prefix matches everything.
    Prefix(Box<[u8]>),
    /// Every path that ends in this text, such as `.php`.
    Suffix(Box<[u8]>),
}

impl PathPattern {
    /// Whether the pattern matches `path`.
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

    /// How many bytes of a path that matches are the route's own, and not a name beneath it.
    #[inline]
    pub fn prefix_bytes(&self) -> usize {
        if let PathPattern::Prefix(prefix) = self { prefix.len() } else { 0 }
    }

    /// Whether the pattern may be for a file of this name, and not for the folder that the file is in.
    pub fn knows_file(&self, name: &[u8]) -> bool {
        let is_its = |path: &[u8]| path.strip_suffix(name).is_some_and(|folder| folder.ends_with(b"/"));
        match self {
            PathPattern::Exact(path) | PathPattern::Prefix(path) => is_its(path),
            PathPattern::Suffix(end) => name.ends_with(end) || end.ends_with(name),
        }
    }

    /// Whether the pattern may match files whose names have one of these suffixes without matching all of their folder.
    pub fn knows_end(&self, ends: [&[u8]; 2]) -> bool {
        ends.iter().any(|end| match self {
            PathPattern::Exact(path) | PathPattern::Prefix(path) => path.ends_with(end),
            PathPattern::Suffix(own) => own.ends_with(end) || end.ends_with(own),
        })
    }

    /// The order of patterns: a pattern that is tried earlier is less, and patterns that are equal are
    /// neighbours.
    fn rank(&self) -> (u8, Reverse<usize>, &[u8]) {
        match self {
            PathPattern::Exact(path) => (0, Reverse(path.len()), path),
            PathPattern::Prefix(prefix) if !prefix.is_empty() => (1, Reverse(prefix.len()), prefix),
            PathPattern::Suffix(end) => (2, Reverse(end.len()), end),
            PathPattern::Prefix(_) => (3, Reverse(0), &[]),
        }
    }
}

/// The routes of a site, the most specific first.
#[derive(Clone, Debug)]
pub struct Routes<A> {
    all: Vec<(PathPattern, A)>,
    exact: PathTable,
    prefixes: PathTable,
    /// The lengths of the prefixes, the longest first, each once.
    lengths: Vec<usize>,
    suffixes: Range<usize>,
    everything: Range<usize>,
}

/// The routes that have a path as their own.
type PathTable = HashMap<Box<[u8]>, Range<usize>, RandomState>;

/// Up to this number of routes, each one is tried: that takes less time than a look into a table.
const FEW: usize = 4;

impl<A> Routes<A> {
    /// Makes the table of these routes; of two equally specific routes, the first in the list is tried first.
    pub fn new(mut routes: Vec<(PathPattern, A)>) -> Routes<A> {
        routes.sort_by(|(one, _), (other, _)| one.rank().cmp(&other.rank()));
        let (mut exact, mut prefixes) = (PathTable::default(), PathTable::default());
        let (mut suffixes, mut everything) = (0..0, 0..0);
        for (at, (pattern, _)) in routes.iter().enumerate() {
            let range = match pattern {
                PathPattern::Exact(path) => exact.entry(path.clone()).or_insert(at..at),
                PathPattern::Prefix(prefix) if prefix.is_empty() => &mut everything,
                PathPattern::Prefix(prefix) => prefixes.entry(prefix.clone()).or_insert(at..at),
                PathPattern::Suffix(_) => &mut suffixes,
            };
            *range = if range.start == range.end { at..at + 1 } else { range.start..at + 1 };
        }
        let mut lengths: Vec<usize> = prefixes.keys().map(|prefix| prefix.len()).collect();
        lengths.sort_unstable_by_key(|&length| Reverse(length));
        lengths.dedup();
        Routes { all: routes, exact, prefixes, lengths, suffixes, everything }
    }

    /// The routes that a path may take, in the order in which they are tried, each with its number.
    #[inline]
    pub fn of<'r, 'p>(&'r self, path: &'p [u8]) -> Tries<'r, 'p, A> {
        let (range, stage) =
            if self.all.len() <= FEW { (0..self.all.len(), Stage::End) } else { (0..0, Stage::Exact) };
        Tries { routes: self, path, stage, range }
    }

    /// The first route that [`Routes::of`] returns.
    #[expect(clippy::inline_always, reason = "a call would cost more than the work, at each request")]
    #[inline(always)]
    pub fn first(&self, path: &[u8]) -> Option<(usize, &PathPattern, &A)> {
        if self.all.len() > FEW {
            return self.first_of_many(path);
        }
        let mut tries = self.all.iter().enumerate();
        tries
            .find(|(_, (pattern, _))| pattern.matches(path))
            .map(|(number, (pattern, action))| (number, pattern, action))
    }

    /// The work of `first` if there are many routes: it is kept apart, so that the search among few routes is small
    /// enough to be inlined into its caller.
    #[inline(never)]
    fn first_of_many(&self, path: &[u8]) -> Option<(usize, &PathPattern, &A)> {
        self.of(path).next()
    }

    /// The route with this number.
    #[inline]
    pub fn get(&self, number: usize) -> Option<(&PathPattern, &A)> {
        self.all.get(number).map(|(pattern, action)| (pattern, action))
    }

    /// The action of the route with this number.
    #[inline]
    pub fn action(&self, number: usize) -> Option<&A> {
        self.all.get(number).map(|(_, action)| action)
    }

    /// The actions of all routes, by their numbers.
    pub fn actions_mut(&mut self) -> impl Iterator<Item = &mut A> {
        self.all.iter_mut().map(|(_, action)| action)
    }

    /// All routes, in the order in which they are tried.
    pub fn iter(&self) -> impl Iterator<Item = (&PathPattern, &A)> {
        self.all.iter().map(|(pattern, action)| (pattern, action))
    }
}

/// The routes that [`Routes::of`] returns.
#[derive(Debug)]
pub struct Tries<'r, 'p, A> {
    routes: &'r Routes<A>,
    path: &'p [u8],
    stage: Stage,
    /// Routes of the present stage that are still to be tried.
    range: Range<usize>,
}

/// The routes that are tried next.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Exact,
    /// Routes with the prefix of a length, by the number of that length.
    Prefix(usize),
    Suffix,
    Everything,
    End,
}

impl<A> Tries<'_, '_, A> {
    /// Goes to the next stage.
    #[inline(never)]
    fn advance(&mut self) {
        let Self { routes, path, .. } = self;
        let of = |table: &PathTable, path: &[u8]| table.get(path).cloned().unwrap_or(0..0);
        (self.range, self.stage) = match self.stage {
            Stage::Exact if routes.exact.is_empty() => (0..0, Stage::Prefix(0)),
            Stage::Exact => (of(&routes.exact, path), Stage::Prefix(0)),
            Stage::Prefix(number) => match routes.lengths.get(number) {
                Some(&length) if matches!(path.get(length..), Some([] | [b'/', ..])) => {
                    (of(&routes.prefixes, &path[..length]), Stage::Prefix(number + 1))
                }
                Some(_) => (0..0, Stage::Prefix(number + 1)),
                None => (0..0, Stage::Suffix),
            },
            Stage::Suffix => (routes.suffixes.clone(), Stage::Everything),
            Stage::Everything => (routes.everything.clone(), Stage::End),
            Stage::End => (0..0, Stage::End),
        };
    }
}

impl<'r, A> Iterator for Tries<'r, '_, A> {
    type Item = (usize, &'r PathPattern, &'r A);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            for number in self.range.by_ref() {
                let (pattern, action) = &self.routes.all[number];
                if pattern.matches(self.path) {
                    return Some((number, pattern, action));
                }
            }
            if matches!(self.stage, Stage::End) {
                return None;
            }
            self.advance();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW, PathPattern, Routes};

    fn exact(path: &str) -> PathPattern {
        PathPattern::Exact(path.as_bytes().into())
    }

    fn prefix(path: &str) -> PathPattern {
        PathPattern::Prefix(path.as_bytes().into())
    }

    fn suffix(end: &str) -> PathPattern {
        PathPattern::Suffix(end.as_bytes().into())
    }

    /// The routes that a path may take, and their order, do not depend on the order in which they were given.
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

    /// Tables must find the same routes as a trial of each route, for all lists of up to six patterns and all short
    /// paths.
    #[test]
    fn tables_and_trying_agree() {
        let patterns = [
            prefix(""),
            prefix("/a"),
            prefix("/a/b"),
            prefix("/b"),
            exact("/a"),
            exact("/b/"),
            suffix(".x"),
            suffix("a"),
        ];
        let pieces = ["/", "a", "b", ".x", "/a", "/b"];
        let mut paths = vec![String::new()];
        for _ in 0..3 {
            let longer = |path: &String| pieces.map(|piece| format!("{path}{piece}"));
            paths.extend(paths.iter().flat_map(longer).collect::<Vec<_>>());
        }
        for chosen in 0..1_usize << patterns.len() {
            let picked = patterns.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
            let mut given: Vec<(PathPattern, usize)> = picked.map(|(at, one)| (one.clone(), at)).collect();
            // Each pattern is given twice, so that there are enough for tables, and neighbours that are equal.
            given.extend(given.clone().into_iter().map(|(one, at)| (one, at + 100)));
            let routes = Routes::new(given);
            for path in &paths {
                let tried = routes.iter().filter(|(pattern, _)| pattern.matches(path.as_bytes()));
                let expected: Vec<usize> = tried.map(|(_, at)| *at).collect();
                let found: Vec<usize> = routes.of(path.as_bytes()).map(|(_, _, at)| *at).collect();

                assert_eq!(found.first(), routes.first(path.as_bytes()).map(|(_, _, at)| at));
                assert_eq!(expected, found, "{path:?} among {:?}", routes.all);
            }
        }
        assert!(2 * patterns.len() > FEW);
    }

    #[test]
    fn patterns_of_files() {
        for (pattern, is_for_it) in [
            (exact("/index.html"), true),
            (exact("/a/index.html"), true),
            (exact("/a/my-index.html"), false),
            (exact("/a/"), false),
            (prefix("/a/index.html"), true),
            (prefix("/a"), false),
            (prefix(""), false),
            (suffix(".html"), true),
            (suffix("index.html"), true),
            (suffix("-index.html"), true),
            (suffix(".htm"), false),
        ] {
            assert_eq!(is_for_it, pattern.knows_file(b"index.html"), "{pattern:?}");
        }
    }

    #[test]
    fn patterns_of_ends() {
        for (pattern, is_for_some) in [
            (exact("/a/b.py"), true),
            (prefix("/a/b.wsgi"), true),
            (exact("/a/b.pyc"), false),
            (prefix("/a"), false),
            (prefix(""), false),
            (suffix(".py"), true),
            (suffix("b.py"), true),
            (suffix("y"), true),
            (suffix(".php"), false),
        ] {
            assert_eq!(is_for_some, pattern.knows_end([b".py", b".wsgi"]), "{pattern:?}");
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

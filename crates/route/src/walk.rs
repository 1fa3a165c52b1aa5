//! The walk through the routes of a path: which of them a request passes, and to which one it comes.
//!
//! The server takes this walk for each request whose first route does not settle it, and `adyton route` takes it to
//! explain the answer.

use std::net::IpAddr;

use adyton_http::Request;

use crate::path::{PathPattern, Routes};
use crate::when::{Taken, When};

/// Facts about a route that decide whether a request comes to it.
pub trait RouteFacts {
    /// The conditions of the route on a request beside its path, if it has any.
    fn when(&self) -> Option<&When>;

    /// Whether a folder answers for the route: if one folder lacks a file, no other folder is asked for it.
    fn is_folder(&self) -> bool;

    /// Whether the route sends clients elsewhere.
    fn is_redirect(&self) -> bool;
}

/// Whether a request comes to a route that has its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coming {
    /// The request comes to the route.
    Here,
    /// The route is a folder, and another folder was asked before and lacks the file.
    FolderMissed,
    /// The request lacks the method that the route wants, and meets all its other conditions.
    OtherMethod,
    /// The request does not meet the conditions of the route.
    Unmet,
}

/// Returns whether a request, from a client with this address, comes to a route that has its path. `has_missed`: a
/// folder was asked before, and lacks the file.
#[inline]
pub fn coming(
    route: &impl RouteFacts,
    request: Request<'_>,
    client: Option<IpAddr>,
    has_missed: bool,
) -> Coming {
    if has_missed && route.is_folder() {
        return Coming::FolderMissed;
    }
    match route.when().map_or(Taken::Yes, |when| when.takes(request, client)) {
        Taken::Yes => Coming::Here,
        Taken::OtherMethod => Coming::OtherMethod,
        Taken::No => Coming::Unmet,
    }
}

/// A route to which a request has come.
#[derive(Clone, Copy, Debug)]
pub struct Come<'p> {
    /// The path of the request, in its one spelling ([`crate::spelled`]).
    pub path: &'p [u8],
    /// The number of the route among those of the site.
    pub number: usize,
}

/// The route of another path than the request's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other<'t, R> {
    /// The other path has the request's own route.
    Own,
    /// The other path has a route of its own.
    Route(&'t R),
    /// The other path has no route.
    Nowhere,
}

/// Returns the route of the path `name`, whose file is about to answer a request that has come to another route.
///
/// A redirect says where clients go, and not which route has the file. So `passes` checks whether the request meets the
/// rules around the redirect, and then the next route is taken.
///
/// # Errors
///
/// The error of `passes`: the rules around a redirect stop the request.
pub fn other<'t, R: RouteFacts, E>(
    routes: &'t Routes<R>,
    come: Come<'_>,
    name: &[u8],
    request: Request<'_>,
    client: Option<IpAddr>,
    mut passes: impl FnMut(&'t PathPattern, &'t R) -> Result<(), E>,
) -> Result<Other<'t, R>, E> {
    for (found, pattern, route) in routes.of(name) {
        if found == come.number {
            return Ok(Other::Own);
        }
        // A folder that the request has passed lacks the file.
        let has_missed = route.is_folder() && is_before(routes, found, come);
        if coming(route, request, client, has_missed) != Coming::Here {
            continue;
        }
        if !route.is_redirect() {
            return Ok(Other::Route(route));
        }
        passes(pattern, route)?;
    }
    Ok(Other::Nowhere)
}

/// Whether the route with this number has the path of a request, and is tried before the route to which the request has
/// come.
fn is_before<R>(routes: &Routes<R>, number: usize, come: Come<'_>) -> bool {
    let mut before = routes.of(come.path).take_while(|(tried, ..)| *tried != come.number);
    before.any(|(tried, ..)| tried == number)
}

#[cfg(test)]
mod tests {
    use adyton_http1::{Head, Limits, Parsed};

    use super::{Come, Coming, Other, RouteFacts, coming, other};
    use crate::{PathPattern, Routes, When};

    /// A route of a test, by its kind.
    #[derive(Debug, PartialEq, Eq)]
    enum Kind {
        Folder,
        App(When),
        Redirect,
    }

    impl RouteFacts for Kind {
        fn when(&self) -> Option<&When> {
            if let Kind::App(when) = self { Some(when) } else { None }
        }

        fn is_folder(&self) -> bool {
            *self == Kind::Folder
        }

        fn is_redirect(&self) -> bool {
            *self == Kind::Redirect
        }
    }

    const HEAD: &[u8] = b"GET /docs/ HTTP/1.1\r\nHost: a\r\n\r\n";

    fn parsed() -> Head {
        let mut head = Head::new();
        assert_eq!(Ok(Parsed::Complete), head.parse(HEAD, &Limits::default()));
        head
    }

    fn for_posts() -> Kind {
        Kind::App(When { methods: vec![b"POST"[..].into()], ..When::default() })
    }

    #[test]
    fn a_route_is_passed_for_a_reason() {
        let head = parsed();
        let request = head.of(HEAD);
        for (route, has_missed, expected) in [
            (Kind::Folder, false, Coming::Here),
            (Kind::Folder, true, Coming::FolderMissed),
            (Kind::Redirect, true, Coming::Here),
            (Kind::App(When::default()), true, Coming::Here),
            (for_posts(), false, Coming::OtherMethod),
        ] {
            assert_eq!(expected, coming(&route, request, None, has_missed), "{route:?} {has_missed}");
        }
    }

    #[test]
    fn another_path_has_its_first_route_that_is_no_redirect() {
        let head = parsed();
        let request = head.of(HEAD);
        let exact = |path: &str| PathPattern::Exact(path.as_bytes().into());
        let prefix = |path: &str| PathPattern::Prefix(path.as_bytes().into());
        let routes = Routes::new(vec![
            (prefix("/docs"), Kind::Folder),
            (exact("/docs/index.html"), Kind::Redirect),
            (exact("/docs/posted.html"), for_posts()),
            (exact("/docs/made.html"), Kind::App(When::default())),
        ]);
        // Exact routes come first, so the folder is the last of the four.
        let come = Come { path: b"/docs/", number: 3 };
        let found = |name: &[u8]| {
            let mut redirects = 0;
            let found: Result<_, ()> = other(&routes, come, name, request, None, |_, _| {
                redirects += 1;
                Ok(())
            });
            (found, redirects)
        };
        assert_eq!((Ok(Other::Own), 1), found(b"/docs/index.html"));
        assert_eq!((Ok(Other::Own), 0), found(b"/docs/posted.html"));
        assert_eq!((Ok(Other::Route(&Kind::App(When::default()))), 0), found(b"/docs/made.html"));
        assert_eq!((Ok(Other::Nowhere), 0), found(b"/elsewhere.html"));

        let stopped = other(&routes, come, b"/docs/index.html", request, None, |_, _| Err("stopped"));

        assert_eq!(Err("stopped"), stopped);
    }

    #[test]
    fn a_folder_that_was_passed_is_not_asked_again() {
        let head = parsed();
        let request = head.of(HEAD);
        let routes = Routes::new(vec![
            (PathPattern::Prefix(b"/docs"[..].into()), Kind::Folder),
            (PathPattern::Prefix(b""[..].into()), Kind::App(When::default())),
        ]);
        let come = Come { path: b"/docs/", number: 1 };

        let found: Result<_, ()> = other(&routes, come, b"/docs/index.html", request, None, |_, _| Ok(()));

        assert_eq!(Ok(Other::Own), found);
    }
}

//! Invariants of every text as a file of sites, and of the router that is made of it.

use std::net::IpAddr;

use adyton_cli::{Command, Question, Site, parse};
use adyton_route::spelled;

/// Panics unless a text is refused with a message, or is a file whose table finds the same routes as a trial of each
/// route.
pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let words = ["check", "site.toml"].map(str::to_owned);
    match parse(&words, &[], false, Some(text.into())) {
        // Besides the file's own mistakes, settings may contradict each other.
        Err(failure) => assert!(!failure.message.is_empty() && failure.status == 2, "nothing is said"),
        Ok(Command::Check(settings)) => {
            let sites = settings.sites.as_deref().expect("a file of sites");
            assert!(sites.table().lines().count() >= sites.sites.len(), "a site is not in the table");
            for path in ["/", "/a", "/a/", "/a/b", "/static/site.css", "/index.php", "//a/%62"] {
                sites.sites.iter().for_each(|site| check_routes(site, path));
                let url = format!("http://shop.example{path}");
                let client = Some(IpAddr::from([127, 0, 0, 1]));
                let question = Question { method: "GET".to_owned(), url, fields: Vec::new(), client };
                assert!(sites.explain(&question).is_ok_and(|said| said.contains("answer ")), "no answer");
            }
        }
        Ok(other) => panic!("{other:?} is no check"),
    }
}

/// Panics unless the table finds exactly the routes that match a path, in the order in which all routes are tried.
fn check_routes(site: &Site, path: &str) {
    let path = spelled(path.as_bytes()).expect("no dot segments");
    let all = site.table();
    let tried = all.iter().filter(|(pattern, _)| pattern.matches(&path)).map(|(_, tried)| tried.number);
    let found = all.of(&path).map(|(_, _, tried)| tried.number);
    assert_eq!(tried.collect::<Vec<_>>(), found.collect::<Vec<_>>(), "other routes are found");
}

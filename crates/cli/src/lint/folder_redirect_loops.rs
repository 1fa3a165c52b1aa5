//! Redirects of a folder that lead back to themselves, directly or by way of the folder's other redirects.

use adyton_http1::{Head, Limits, Parsed};
use adyton_route::{Location, Routes, raw_bytes, spelled};

use super::redirect_loops::{ANY_HOST, HOPS_MAX, paths_of, text};
use crate::settings::said::Fault;
use crate::sites::FolderRedirect;

/// Finds redirects of a folder that send clients back to themselves. `url` is the path of the folder for clients,
/// decoded, without a slash at its end.
///
/// A redirect of this kind is doubtful, but not wrong: another route of the site, or a folder beneath this one, may
/// answer a path in between.
pub fn folder_loops(redirects: &[FolderRedirect], url: &[u8]) -> Vec<Fault> {
    let patterns = redirects.iter().enumerate().map(|(number, redirect)| (redirect.path.clone(), number));
    let walk = FolderWalk { redirects, table: Routes::new(patterns.collect()), url };
    let fault = |(own, redirect): (usize, &FolderRedirect)| {
        let to = redirect.to.as_ref()?;
        let mut targets = paths_of(&redirect.path).into_iter().map(|path| text(&[url, &path].concat()));
        let (from, back) = targets.find_map(|from| walk.back(own, &from).map(|back| (from, back)))?;
        let what = format!(
            "redirect = {to}: {from} is sent to {back}, which this redirect has, too, and so on without end; name \
             another target"
        );
        Some(Fault { at: redirect.at.clone(), what })
    };
    redirects.iter().enumerate().filter_map(fault).collect()
}

/// A client that follows redirects of a folder.
struct FolderWalk<'f> {
    redirects: &'f [FolderRedirect],
    table: Routes<usize>,
    url: &'f [u8],
}

impl FolderWalk<'_> {
    /// Returns the last target to which a client was sent before it came back to the redirect with the number `own`;
    /// `target` is a request target that this redirect answers.
    fn back(&self, own: usize, target: &str) -> Option<String> {
        let (taken, mut next) = self.sent(target)?;
        if taken != own {
            return None;
        }
        for _ in 0..HOPS_MAX {
            let (taken, after) = self.sent(&next)?;
            if taken == own {
                return Some(next);
            }
            next = after;
        }
        None
    }

    /// Returns the redirect that answers a path, by its number, and where it sends a client in this site.
    fn sent(&self, target: &str) -> Option<(usize, String)> {
        let bytes = format!("GET {target} HTTP/1.1\r\nHost: {ANY_HOST}\r\n\r\n").into_bytes();
        let mut head = Head::new();
        (head.parse(&bytes, &Limits::default()) == Ok(Parsed::Complete)).then_some(())?;
        let request = head.of(&bytes);
        let path = spelled(request.path()).ok()?;
        let beneath = path.strip_prefix(self.url).filter(|rest| rest.starts_with(b"/"))?;
        let (_, pattern, number) = self.table.first(beneath)?;
        let own_bytes = raw_bytes(request.path(), self.url.len() + pattern.prefix_bytes());
        let to: &Location = self.redirects[*number].to.as_ref()?;
        Some((*number, own_target(to.of(request, own_bytes))?))
    }
}

/// Returns path and query of a URL, if it leads to the same host over http.
fn own_target(url: Vec<u8>) -> Option<String> {
    let url = String::from_utf8(url).ok()?;
    let url = url.split('#').next().unwrap_or_default();
    let rest = url.strip_prefix("http://").map_or(Some(url), |rest| rest.strip_prefix(ANY_HOST))?;
    (rest.starts_with('/') && !rest.starts_with("//")).then(|| rest.to_owned())
}

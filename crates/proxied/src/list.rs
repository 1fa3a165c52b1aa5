//! Lists that several fields hold together, read from the end (RFC 9110 section 5.3).

use std::borrow::Cow;

use adyton_http::bytes::trim;

/// Maximum number of elements that are read, empty ones included: each stands for a proxy on the way, and there are
/// usually two or three proxies. Elements further to the left count as claims of the client.
pub(crate) const ELEMENTS_MAX: usize = 100;

/// Finds the comma behind which the last element of a list begins.
pub(crate) type LastComma = fn(&[u8]) -> Option<usize>;

/// The meaning of an element for the elements to its left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The element is true, and the next one may be true, too.
    On,
    /// The element is true, but nobody vouches for the elements to its left.
    Stop,
    /// Neither the element nor the elements to its left are believed.
    Drop,
}

/// The part of a list that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept<'r> {
    /// Nothing.
    None,
    /// The fields as they are.
    All,
    /// This value, instead of all of the fields.
    Part(Cow<'r, [u8]>),
}

/// Asks `step` about the elements of a list, from the last one on, until `step` ends the walk.
///
/// `lines` are the values of the fields, the last one first. Empty elements are passed over (RFC 9110 section 5.6.1).
pub(crate) fn walk<'r, L>(lines: L, comma: LastComma, mut step: impl FnMut(&'r [u8]) -> Step) -> Kept<'r>
where
    L: Iterator<Item = &'r [u8]> + Clone,
{
    let mut first_kept = None;
    let all = lines.clone().enumerate().flat_map(|(behind, line)| from_end(line, comma, behind));
    for element in all.take(ELEMENTS_MAX) {
        if element.text.is_empty() {
            continue;
        }
        let step = step(element.text);
        if step == Step::Drop {
            break;
        }
        first_kept = Some(element);
        if step == Step::Stop {
            break;
        }
    }
    first_kept.map_or(Kept::None, |first| keep(lines, first))
}

/// An element, and where it is.
#[derive(Clone, Copy)]
struct Place<'r> {
    text: &'r [u8],
    /// Number of fields behind the field of the element.
    fields_behind: usize,
    /// The part of the field in front of the element, with a comma at the end; perhaps nothing.
    before: &'r [u8],
    /// The field from the element on.
    from_here: &'r [u8],
}

/// The elements of one field, the last one first.
fn from_end(line: &[u8], comma: LastComma, fields_behind: usize) -> impl Iterator<Item = Place<'_>> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let list = rest?;
        let comma = comma(list);
        rest = comma.map(|comma| &list[..comma]);
        let start = comma.map_or(0, |comma| comma + 1);
        let (before, from_here) = line.split_at(start);
        Some(Place { text: trim(&list[start..]), fields_behind, before, from_here: trim(from_here) })
    })
}

/// The list from `first` on. A list is only copied if it spans several fields.
fn keep<'r>(lines: impl Iterator<Item = &'r [u8]> + Clone, first: Place<'r>) -> Kept<'r> {
    let count = lines.clone().count();
    if first.fields_behind + 1 == count && first.before.iter().all(|byte| b", \t".contains(byte)) {
        return Kept::All;
    }
    if first.fields_behind == 0 {
        return Kept::Part(Cow::Borrowed(first.from_here));
    }
    let mut parts: Vec<&[u8]> = lines.take(first.fields_behind).collect();
    parts.push(first.from_here);
    parts.reverse();
    Kept::Part(Cow::Owned(parts.join(&b", "[..])))
}

/// Finds the last comma of a list whose elements hold none.
pub(crate) fn last_comma(list: &[u8]) -> Option<usize> {
    list.iter().rposition(|&byte| byte == b',')
}

/// Finds no comma, for a value that is no list.
pub(crate) fn no_comma(_: &[u8]) -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::{ELEMENTS_MAX, Kept, Step, last_comma, walk};

    /// Returns the kept part as text; elements that begin with `p` are proxies, those with `c` clients.
    fn kept(lines: &[&str]) -> Option<String> {
        let last_first = lines.iter().rev().map(|line| line.as_bytes());
        let kept = walk(last_first, last_comma, |element| match element {
            [b'p', ..] => Step::On,
            [b'c', ..] => Step::Stop,
            _ => Step::Drop,
        });
        match kept {
            Kept::None => None,
            Kept::All => Some("all".to_owned()),
            Kept::Part(part) => Some(String::from_utf8_lossy(&part).into_owned()),
        }
    }

    #[test]
    fn lists() {
        for (lines, expected) in [
            (&[][..], None),
            (&[""], None),
            (&[" , ,", ","], None),
            (&["c"], Some("all")),
            (&["p"], Some("all")),
            (&["x"], None),
            (&["c , p,p"], Some("all")),
            (&[", ,c,"], Some("all")),
            (&["c,x"], None),
            (&["x,c"], Some("c")),
            (&["c,c2"], Some("c2")),
            (&["c, p , x,\tp ,,p2, "], Some("p ,,p2,")),
            (&["c", "p"], Some("all")),
            (&["c", "c2"], Some("c2")),
            (&["c", "c2,p"], Some("c2,p")),
            (&["c", "c2", "p"], Some("c2, p")),
            (&["x", "x,p", "p2, p3", "p4"], Some("p, p2, p3, p4")),
            (&["c", "", "p"], Some("all")),
            (&["", "c", "p"], Some("c, p")),
        ] {
            assert_eq!(expected.map(str::to_owned), kept(lines), "{lines:?}");
        }
    }

    #[test]
    fn a_walk_ends() {
        let few = vec!["p"; ELEMENTS_MAX].join(",");
        let many = format!("p,{few}");

        assert_eq!(Some("all"), kept(&[&few]).as_deref());
        assert_eq!(Some(few), kept(&[&many]));
        assert_eq!(None, kept(&[&format!("p{}", ",".repeat(ELEMENTS_MAX))]));
    }
}

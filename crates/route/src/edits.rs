//! Changes that a route makes to the heads of its answers.

use adyton_http::bytes::is_token;

/// Fields that are taken out of a head, and lines that are put into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadEdits {
    /// Names of fields, in any case.
    removed: Vec<Box<[u8]>>,
    /// Whole lines, with their ends.
    lines: Vec<u8>,
}

/// Fields about the end of an answer and about its connection, which only the server sets.
const OF_THE_SERVER: [&str; 6] =
    ["Connection", "Content-Length", "Date", "Keep-Alive", "Transfer-Encoding", "Upgrade"];

impl HeadEdits {
    /// Takes out all fields with this name.
    ///
    /// # Errors
    ///
    /// The field is the server's, or the name is no field name.
    pub fn remove(&mut self, name: &str) -> Result<(), &'static str> {
        if OF_THE_SERVER.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err(
                "the server sets this field itself, as it knows how long an answer is and how it ends",
            );
        }
        if !is_token(name.as_bytes()) {
            return Err("the name of a field has letters, digits and hyphens");
        }
        self.removed.push(name.as_bytes().into());
        Ok(())
    }

    /// Puts in a field, beside fields that have the same name already.
    ///
    /// # Errors
    ///
    /// The field is the server's, or it is no field.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        if OF_THE_SERVER.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err(
                "the server sets this field itself, as it knows how long an answer is and how it ends",
            );
        }
        if !is_token(name.as_bytes()) {
            return Err("the name of a field has letters, digits and hyphens");
        }
        if value.bytes().any(|byte| byte != b'\t' && byte.is_ascii_control()) {
            return Err("the value of a field is one line");
        }
        self.lines.extend_from_slice(format!("{name}: {}\r\n", value.trim()).as_bytes());
        Ok(())
    }

    /// Whether these edits change nothing.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.lines.is_empty()
    }

    /// Joins these edits with the edits of an inner table, which take precedence for each field.
    #[must_use]
    pub fn followed_by(&self, inner: &HeadEdits) -> HeadEdits {
        let is_left = |line: &&[u8]| !inner.removes(line);
        let outer = self.lines.split_inclusive(|&byte| byte == b'\n').filter(is_left);
        HeadEdits {
            removed: self.removed.iter().chain(&inner.removed).cloned().collect(),
            lines: outer.chain([inner.lines.as_slice()]).flatten().copied().collect(),
        }
    }

    /// Whether these edits put in a field with this name that has this element in its list, as `Cache-Control` with
    /// `no-store`.
    pub fn adds(&self, name: &str, element: &str) -> bool {
        self.lines.split(|&byte| byte == b'\n').any(|line| {
            let mut parts = line.splitn(2, |&byte| byte == b':');
            let is_name = parts.next().is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()));
            let mut elements = parts.next().unwrap_or_default().split(|&byte| byte == b',');
            is_name && elements.any(|one| one.trim_ascii().eq_ignore_ascii_case(element.as_bytes()))
        })
    }

    /// Changes the head that begins at `start` of `out`; a body may follow it.
    pub fn apply(&self, out: &mut Vec<u8>, start: usize) {
        // Lines that stay move up to `kept`; `read` is where the next one begins.
        let (mut kept, mut read) = (start, start);
        loop {
            let Some(end) = memchr::memchr(b'\n', &out[read..]).map(|at| read + at + 1) else {
                debug_assert!(out.len() == start, "a head has an end");
                return;
            };
            let line = &out[read..end];
            if line == b"\r\n" {
                break;
            }
            if !self.removes(line) {
                if kept < read {
                    out.copy_within(read..end, kept);
                }
                kept += end - read;
            }
            read = end;
        }
        let (lines_end, whole) = (kept + self.lines.len(), out.len());
        if lines_end > read {
            out.resize(whole + lines_end - read, 0);
        }
        out.copy_within(read..whole, lines_end);
        out.truncate(lines_end + whole - read);
        out[kept..lines_end].copy_from_slice(&self.lines);
    }

    /// Whether these edits take out this line.
    fn removes(&self, line: &[u8]) -> bool {
        self.removed
            .iter()
            .any(|name| line.get(name.len()) == Some(&b':') && line[..name.len()].eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::HeadEdits;

    fn edited(edits: &HeadEdits, head: &str) -> String {
        let mut out = format!("before{head}").into_bytes();
        edits.apply(&mut out, "before".len());
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn fields_are_taken_out_and_put_in() {
        let mut edits = HeadEdits::default();
        assert_eq!(Ok(()), edits.remove("x-powered-by"));
        assert_eq!(Ok(()), edits.add("X-Frame-Options", " DENY "));
        let head =
            "HTTP/1.1 200 OK\r\nX-Powered-By: a\r\nA: X-Powered-By\r\nX-POWERED-BY: b\r\n\r\nX-Powered-By: c";

        assert_eq!(
            "beforeHTTP/1.1 200 OK\r\nA: X-Powered-By\r\nX-Frame-Options: DENY\r\n\r\nX-Powered-By: c",
            edited(&edits, head)
        );
        assert_eq!("before", edited(&edits, ""));
        assert_eq!(
            "beforeHTTP/1.1 404 None\r\n\r\n",
            edited(&HeadEdits::default(), "HTTP/1.1 404 None\r\n\r\n")
        );
    }

    /// Joined edits must change a head as the two edits do when they are applied one after the other.
    #[test]
    fn edits_that_follow_others() {
        let (mut outer, mut inner) = (HeadEdits::default(), HeadEdits::default());
        assert_eq!(Ok(()), outer.remove("A").and_then(|()| outer.add("A", "outer")));
        assert_eq!(Ok(()), outer.remove("B").and_then(|()| outer.add("B", "outer")));
        assert_eq!(Ok(()), outer.add("C", "outer"));
        assert_eq!(Ok(()), inner.remove("b").and_then(|()| inner.add("b", "inner")));
        assert_eq!(Ok(()), inner.add("C", "inner"));
        let head = "HTTP/1.1 200 OK\r\nA: 1\r\nB: 1\r\nC: 1\r\n\r\n";
        let one_by_one = edited(&outer, head).replacen("before", "", 1);

        assert_eq!(edited(&inner, &one_by_one), edited(&outer.followed_by(&inner), head));
        assert_eq!(
            "beforeHTTP/1.1 200 OK\r\nC: 1\r\nA: outer\r\nC: outer\r\nb: inner\r\nC: inner\r\n\r\n",
            edited(&outer.followed_by(&inner), head)
        );
    }

    #[test]
    fn what_is_put_in_is_known() {
        let mut edits = HeadEdits::default();
        assert_eq!(Ok(()), edits.add("X", "no-store"));
        assert!(!edits.adds("Cache-Control", "no-store") && edits.adds("x", "No-Store"));
        assert_eq!(Ok(()), edits.add("cache-control", "private, no-transform"));
        assert!(edits.adds("Cache-Control", "no-transform") && !edits.adds("Cache-Control", "no-trans"));
    }

    #[test]
    fn what_is_no_field_of_a_route() {
        for name in ["content-length", "Transfer-Encoding", "Date", "CONNECTION"] {
            assert!(
                HeadEdits::default().add(name, "1").is_err() && HeadEdits::default().remove(name).is_err()
            );
        }
        for (name, value) in [("", "a"), ("a b", "c"), ("a:b", "c"), ("a", "b\r\nc: d"), ("a", "\0")] {
            assert!(HeadEdits::default().add(name, value).is_err(), "{name:?}: {value:?}");
        }
    }
}

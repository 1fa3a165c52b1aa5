//! What a route changes in the heads of its answers.

use adyton_http::bytes::is_token;

/// Fields that are taken out of a head, and lines that are put into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadEdits {
    /// Names of fields, in any case.
    removed: Vec<Box<[u8]>>,
    /// Whole lines, with their ends.
    lines: Vec<u8>,
}

/// Fields that say where an answer ends and what becomes of its connection: they are the server's.
const OF_THE_SERVER: [&str; 6] =
    ["Connection", "Content-Length", "Date", "Keep-Alive", "Transfer-Encoding", "Upgrade"];

impl HeadEdits {
    /// Takes out all fields with this name.
    ///
    /// # Errors
    ///
    /// It is the server's.
    pub fn remove(&mut self, name: &str) -> Result<(), &'static str> {
        if OF_THE_SERVER.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err("this field is the server's own, which knows how long an answer is and how it ends");
        }
        self.removed.push(name.as_bytes().into());
        Ok(())
    }

    /// Puts in a field, beside others with its name.
    ///
    /// # Errors
    ///
    /// It is the server's; it is no field.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        if OF_THE_SERVER.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err("this field is the server's own, which knows how long an answer is and how it ends");
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

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.lines.is_empty()
    }

    /// Changes the head that begins at `start` of `out`; a body may follow it.
    pub fn apply(&self, out: &mut Vec<u8>, start: usize) {
        let Some(end) = memchr::memmem::find(&out[start..], b"\r\n\r\n").map(|at| start + at + 2) else {
            debug_assert!(out.len() == start, "a head has an end");
            return;
        };
        let mut head = Vec::with_capacity(end - start + self.lines.len());
        for line in out[start..end].split_inclusive(|&byte| byte == b'\n') {
            let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
            if !self.removed.iter().any(|removed| removed.eq_ignore_ascii_case(name)) {
                head.extend_from_slice(line);
            }
        }
        head.extend_from_slice(&self.lines);
        out.splice(start..end, head);
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

//! A list of URLs with weights: one request on each line.

use crate::plan::{Plan, WeightedRequest};
use crate::target::url::Url;

/// The largest number of URLs in a list: each costs some 40 KiB of histogram in each thread, and three requests
/// beforehand.
const URLS_MAX: usize = 1_000;

/// The highest weight: weights are summed, and a finer share is not needed.
const WEIGHT_MAX: u32 = 1_000_000;

impl Plan {
    /// Makes the plan send the requests of a list, all to the plan's server, instead of requests to its URL. A line is
    /// `[WEIGHT] [METHOD] URL`, where the URL may be a path; `#` begins a comment. The weight is 1 if it is left out,
    /// and the method is the plan's.
    ///
    /// # Errors
    ///
    /// A sentence that begins with the number of the line.
    pub fn take_list(&mut self, text: &str) -> Result<(), String> {
        let mut listed = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let words: Vec<&str> =
                line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
            if !words.is_empty() {
                listed.push(self.listed(&words).map_err(|why| format!("line {number}: {why}"))?);
            }
        }
        if listed.is_empty() || listed.len() > URLS_MAX {
            return Err(format!("{} URLs; a list has from 1 to {URLS_MAX}", listed.len()));
        }
        self.url_list = listed;
        Ok(())
    }

    /// Reads the request of one line.
    fn listed(&self, words: &[&str]) -> Result<WeightedRequest, String> {
        let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        let (weight, words) = match words.split_first() {
            Some((weight, rest)) if is_number(weight) && !rest.is_empty() => (*weight, rest),
            _ => ("1", words),
        };
        let weight = weight.parse().ok().filter(|weight| (1..=WEIGHT_MAX).contains(weight));
        let weight = weight.ok_or_else(|| format!("a weight is a number from 1 to {WEIGHT_MAX}"))?;
        let (method, url) = match words {
            [url] => (self.method.as_str(), *url),
            [method, url] if method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-') => {
                (*method, *url)
            }
            _ => return Err("write [WEIGHT] [METHOD] URL, the method in capitals".to_owned()),
        };
        let has_body = method != "GET" && method != "HEAD";
        Ok(WeightedRequest { weight, method: method.to_owned(), url: self.beside(url)?, has_body })
    }

    /// Reads a URL at the plan's server, or only the path of such a URL.
    fn beside(&self, text: &str) -> Result<Url, String> {
        if text.starts_with('/') {
            return self.url.with_target(text);
        }
        let url: Url = text.parse().map_err(|why| format!("{text}: {why}; a path begins with /"))?;
        if url.address != self.url.address {
            return Err(format!(
                "{text} is on another server than {}: all URLs of a list must be on one",
                self.url
            ));
        }
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

    use super::*;

    fn listed(text: &str) -> Result<Vec<(u32, String, String)>, String> {
        let mut plan = Plan::new("http://127.0.0.1:8000/x".parse().unwrap());
        plan.take_list(text)?;
        let told =
            |request: &WeightedRequest| (request.weight, request.method.clone(), request.url.to_string());
        Ok(plan.url_list.iter().map(told).collect())
    }

    #[test]
    fn lines() {
        let text =
            "# front page first\n10 /\n\n  POST /order  # no weight\n3 HEAD 127.0.0.1:8000/a?b#c\n/#top\n";
        let url = |path: &str| format!("http://127.0.0.1:8000{path}");

        let expected = [(10, "GET", "/"), (1, "POST", "/order"), (3, "HEAD", "/a?b"), (1, "GET", "/")];
        let expected: Vec<_> =
            expected.map(|(weight, method, path)| (weight, method.to_owned(), url(path))).into();
        assert_eq!(Ok(expected), listed(text));
    }

    #[test]
    fn what_is_wrong_is_told_by_line() {
        let cases = [
            ("/\nhttp://127.0.0.1:8001/\n", "line 2: http://127.0.0.1:8001/ is on another server"),
            ("0 /", "line 1: a weight is a number"),
            ("9999999 /", "line 1: a weight is a number"),
            ("get /", "line 1: write [WEIGHT] [METHOD] URL"),
            ("1 GET / /", "line 1: write [WEIGHT] [METHOD] URL"),
            ("/ü", "line 1: 'ü' must be percent-encoded"),
            ("https://127.0.0.1/", "line 1: https://127.0.0.1/: TLS is not spoken"),
            ("# nothing\n", "0 URLs"),
        ];
        for (text, sentence) in cases {
            let why = listed(text).unwrap_err();
            assert!(why.starts_with(sentence), "{why}");
        }
    }
}

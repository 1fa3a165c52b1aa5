//! A client's answer to a Digest challenge (RFC 7616 section 3.4), and the parameters that it must have.

use std::borrow::Cow;
use std::fmt;

use crate::digest::algorithm::Algorithm;
use crate::parameters::Parameters;
use crate::realm::quote;

/// The parameters of `Authorization`, all of which must be there.
pub(crate) struct Answer<'a> {
    pub(crate) user: Cow<'a, [u8]>,
    pub(crate) realm: &'a [u8],
    pub(crate) algorithm: Algorithm,
    pub(crate) nonce: &'a [u8],
    pub(crate) uri: &'a [u8],
    pub(crate) response: &'a [u8],
    pub(crate) cnonce: &'a [u8],
    /// The value of `nc`: eight hexadecimal digits, as the client sent them.
    pub(crate) nc: &'a [u8],
    pub(crate) count: u32,
}

impl<'a> Answer<'a> {
    pub(crate) fn of(parameters: &'a Parameters<'_>) -> Result<Answer<'a>, DigestError> {
        let wanted = |name: &'static str| parameters.of(name.as_bytes()).ok_or(DigestError::Missing(name));
        let is = |value: &[u8], word: &str| value.eq_ignore_ascii_case(word.as_bytes());
        // If the parameter is missing, the algorithm is MD5 (RFC 7616 section 3.4).
        let algorithm = parameters.of(b"algorithm").unwrap_or(b"MD5");
        let algorithm = Algorithm::ALL.into_iter().find(|known| is(algorithm, known.name()));
        let algorithm = algorithm.ok_or(DigestError::OtherAlgorithm)?;
        if !is(wanted("qop")?, "auth") {
            return Err(DigestError::OtherQop);
        }
        if parameters.of(b"userhash").is_some_and(|value| !is(value, "false")) {
            return Err(DigestError::UserHash);
        }
        let nc = wanted("nc")?;
        let count = str::from_utf8(nc).ok().filter(|_| nc.len() == 8 && nc.iter().all(u8::is_ascii_hexdigit));
        let count = count.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        Ok(Answer {
            user: user_of(parameters)?,
            realm: wanted("realm")?,
            algorithm,
            nonce: wanted("nonce")?,
            uri: wanted("uri")?,
            response: wanted("response")?,
            cnonce: wanted("cnonce")?,
            nc,
            count: count.ok_or(DigestError::Malformed)?,
        })
    }

    /// The proof for a request, computed with its method, or for the server's answer, computed with an empty method.
    /// Only someone who knows the user's hash can compute it (RFC 7616 sections 3.4.1 and 3.5).
    pub(crate) fn proof(&self, user_hash: &[u8], method: &[u8]) -> String {
        let request = self.algorithm.hash(&[method, self.uri]);
        self.algorithm.hash(&[user_hash, self.nonce, self.nc, self.cnonce, b"auth", request.as_bytes()])
    }

    /// The value of `Authentication-Info` (RFC 7616 section 3.5).
    pub(crate) fn info(&self, user_hash: &[u8]) -> Vec<u8> {
        let mut value = format!("rspauth=\"{}\", qop=auth, cnonce=", self.proof(user_hash, b"")).into_bytes();
        quote(self.cnonce, &mut value);
        value.extend_from_slice(b", nc=");
        value.extend_from_slice(self.nc);
        value
    }
}

/// The name, from `username`, or from `username*` if it has letters beyond ASCII (RFC 7616 section 3.4).
fn user_of<'a>(parameters: &'a Parameters<'_>) -> Result<Cow<'a, [u8]>, DigestError> {
    match (parameters.of(b"username"), parameters.of(b"username*")) {
        (Some(user), None) => Ok(user.into()),
        (None, Some(value)) => extended(value).map(Cow::Owned).ok_or(DigestError::Malformed),
        (Some(_), Some(_)) => Err(DigestError::Malformed),
        (None, None) => Err(DigestError::Missing("username")),
    }
}

/// Decodes an extended value, `UTF-8'LANGUAGE'...` (RFC 8187 section 3.2), whose last part is percent-encoded.
fn extended(value: &[u8]) -> Option<Vec<u8>> {
    let mut parts = value.splitn(3, |&byte| byte == b'\'');
    let (charset, _language, mut text) = (parts.next()?, parts.next()?, parts.next()?);
    if !charset.eq_ignore_ascii_case(b"UTF-8") {
        return None;
    }
    let mut decoded = Vec::with_capacity(text.len());
    while let Some((&first, rest)) = text.split_first() {
        let byte = match (first, rest) {
            (b'%', [high, low, ..]) => nibble(*high)? << 4 | nibble(*low)?,
            (b'%' | b'\'', _) => return None,
            _ => first,
        };
        decoded.push(byte);
        text = if first == b'%' { &rest[2..] } else { rest };
    }
    str::from_utf8(&decoded).is_ok().then_some(decoded)
}

/// The value of a hexadecimal digit.
fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// The reason why no user is accepted as the sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestError {
    /// The value belongs to another scheme: ask the client for Digest.
    OtherScheme,
    /// The value is not a list of parameters, or one of them is malformed.
    Malformed,
    /// This parameter is missing.
    Missing(&'static str),
    /// The answer is for another realm.
    OtherRealm,
    /// The answer's `uri` is not the target of the request.
    OtherTarget,
    /// The answer's `algorithm` is not supported.
    OtherAlgorithm,
    /// The answer's `qop` is not `auth`.
    OtherQop,
    /// The answer has a hash of the name, although the challenge asked for the name itself.
    UserHash,
    /// There is no user of this name, or the password is wrong.
    Wrong,
}

impl DigestError {
    /// Whether the request may be an attempt to guess a password: [`crate::Throttle`] counts such requests.
    pub fn is_guess(self) -> bool {
        self == DigestError::Wrong
    }
}

impl fmt::Display for DigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DigestError::OtherScheme => write!(f, "Authorization is not of the scheme Digest"),
            DigestError::Malformed => write!(f, "Authorization is no list of parameters of Digest"),
            DigestError::Missing(name) => write!(f, "Authorization has no {name}"),
            DigestError::OtherRealm => write!(f, "Authorization is for another realm"),
            DigestError::OtherTarget => write!(f, "Authorization is for another target than the request"),
            DigestError::OtherAlgorithm => {
                write!(f, "Authorization is of another algorithm than MD5 and SHA-256")
            }
            DigestError::OtherQop => write!(f, "Authorization has another qop than auth"),
            DigestError::UserHash => write!(f, "Authorization has the hash of a name instead of the name"),
            DigestError::Wrong => write!(f, "there is no such user, or the password is wrong"),
        }
    }
}

impl std::error::Error for DigestError {}

#[cfg(test)]
mod tests {
    use super::extended;

    #[test]
    fn extended_values() {
        for (value, expected) in [
            ("UTF-8''J%C3%A4s%C3%B8n%20Doe", Some("Jäsøn Doe")),
            ("utf-8'de-CH'a", Some("a")),
            ("UTF-8''", Some("")),
            ("UTF-8'a", None),
            ("a", None),
            ("ISO-8859-1''a", None),
            ("UTF-8''a'b", None),
            ("UTF-8''%", None),
            ("UTF-8''%4", None),
            ("UTF-8''%4g", None),
            ("UTF-8''%+4", None),
            ("UTF-8''%FF", None),
        ] {
            let found = extended(value.as_bytes());

            assert_eq!(expected.map(str::as_bytes), found.as_deref(), "{value}");
        }
    }
}

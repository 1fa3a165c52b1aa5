//! The Basic scheme (RFC 7617): a client sends its name and password unencrypted, so the connection must be encrypted.

use std::fmt;

use base64ct::{Base64, Encoding};

use crate::realm::{Realm, quote};

/// The name and the password that a client sends.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name: without a colon and without control characters; it may be empty.
    pub user: Vec<u8>,
    /// The password: without control characters.
    pub password: Vec<u8>,
}

impl fmt::Debug for Credentials {
    /// Shows the name but not the password, which must not get into a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.escape_ascii().to_string();
        f.debug_struct("Credentials").field("user", &user).finish_non_exhaustive()
    }
}

/// The most bytes of the decoded name, colon and password together. `htpasswd` allows 255 bytes each for name and
/// password.
pub const CREDENTIALS_BYTES_MAX: usize = 1024;

/// The reason why no name and password can be read from a value of `Authorization`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BasicError {
    /// The value belongs to another scheme: ask the client for Basic.
    OtherScheme,
    /// The value does not have the form of RFC 7617 section 2: answer 400, or ask the client again.
    Malformed,
    /// The value is longer than [`CREDENTIALS_BYTES_MAX`].
    TooLong,
}

impl fmt::Display for BasicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BasicError::OtherScheme => write!(f, "Authorization is not of the scheme Basic"),
            BasicError::Malformed => write!(f, "Authorization has no user and password in base64"),
            BasicError::TooLong => {
                write!(f, "user and password have more than {CREDENTIALS_BYTES_MAX} bytes")
            }
        }
    }
}

impl std::error::Error for BasicError {}

/// Reads the value of `Authorization`, as it was sent, without the blanks around it.
///
/// # Errors
///
/// [`BasicError`].
pub fn read_basic(value: &[u8]) -> Result<Credentials, BasicError> {
    let token = of_scheme(value, b"Basic").ok_or(BasicError::OtherScheme)?;
    if token.len() > CREDENTIALS_BYTES_MAX.div_ceil(3) * 4 {
        return Err(BasicError::TooLong);
    }
    let token = str::from_utf8(token).map_err(|_| BasicError::Malformed)?;
    let decoded = Base64::decode_vec(token).map_err(|_| BasicError::Malformed)?;
    if decoded.len() > CREDENTIALS_BYTES_MAX {
        return Err(BasicError::TooLong);
    }
    let colon = decoded.iter().position(|&byte| byte == b':').ok_or(BasicError::Malformed)?;
    if decoded.iter().any(u8::is_ascii_control) {
        return Err(BasicError::Malformed);
    }
    Ok(Credentials { user: decoded[..colon].to_vec(), password: decoded[colon + 1..].to_vec() })
}

/// The value of `WWW-Authenticate` that asks for Basic, with names and passwords in UTF-8.
pub fn basic_challenge(realm: &Realm) -> Vec<u8> {
    let mut value = b"Basic realm=".to_vec();
    quote(realm.as_str().as_bytes(), &mut value);
    value.extend_from_slice(b", charset=\"UTF-8\"");
    value
}

/// The rest of a value after the name of its scheme, which is case-insensitive, and the spaces after the name (RFC 9110
/// section 11.4).
pub(crate) fn of_scheme<'a>(value: &'a [u8], scheme: &[u8]) -> Option<&'a [u8]> {
    let (name, mut rest) = value.split_at_checked(scheme.len())?;
    if !name.eq_ignore_ascii_case(scheme) || !(rest.is_empty() || rest.starts_with(b" ")) {
        return None;
    }
    while let [b' ', more @ ..] = rest {
        rest = more;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use base64ct::{Base64, Encoding};

    use super::{BasicError, CREDENTIALS_BYTES_MAX, Credentials, basic_challenge, read_basic};
    use crate::Realm;

    #[test]
    fn credentials() {
        for (value, user, password) in [
            // RFC 7617 section 2 and section 2.1.
            ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"),
            ("Basic dGVzdDoxMjPCow==", "test", "123£"),
            ("bASIC   QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"),
            ("Basic YTpiOmM=", "a", "b:c"),
            ("Basic Og==", "", ""),
            ("Basic YTo=", "a", ""),
        ] {
            let expected = Credentials { user: user.into(), password: password.into() };

            assert_eq!(Ok(expected), read_basic(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn no_credentials() {
        for (value, error) in [
            ("", BasicError::OtherScheme),
            ("Basi", BasicError::OtherScheme),
            ("Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==", BasicError::OtherScheme),
            ("BasicQWxhZGRpbjpvcGVuIHNlc2FtZQ==", BasicError::OtherScheme),
            ("Basic\tYTo=", BasicError::OtherScheme),
            ("Basic", BasicError::Malformed),
            ("Basic ", BasicError::Malformed),
            ("Basic YTo", BasicError::Malformed),
            ("Basic YTo==", BasicError::Malformed),
            ("Basic YTp=", BasicError::Malformed),
            ("Basic YTo= ", BasicError::Malformed),
            ("Basic YTo=, Basic YTo=", BasicError::Malformed),
            ("Basic YT_o", BasicError::Malformed),
            ("Basic YWJj", BasicError::Malformed),
            ("Basic YTphAGI=", BasicError::Malformed),
            ("Basic YQo6Yg==", BasicError::Malformed),
            ("Basic YTpif2M=", BasicError::Malformed),
            ("Basic ä", BasicError::Malformed),
        ] {
            assert_eq!(Err(error), read_basic(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn the_longest() {
        for (bytes, is_good) in
            [(CREDENTIALS_BYTES_MAX, true), (CREDENTIALS_BYTES_MAX + 1, false), (9000, false)]
        {
            let text = format!(":{}", "x".repeat(bytes - 1));
            let value = format!("Basic {}", Base64::encode_string(text.as_bytes()));
            let error = read_basic(value.as_bytes()).err();

            assert_eq!((!is_good).then_some(BasicError::TooLong), error, "{bytes}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        // Every byte in each place, compared with the rule itself.
        for byte in 0..=u8::MAX {
            for text in [vec![byte, b':', b'p'], vec![b'u', b':', byte], vec![b'u', byte, b'p']] {
                let value = format!("Basic {}", Base64::encode_string(&text));
                let mut parts = text.splitn(2, |&byte| byte == b':').map(<[u8]>::to_vec);
                let (user, password) = (parts.next().unwrap_or_default(), parts.next());
                let expected = password.filter(|_| !byte.is_ascii_control());
                let expected = expected.map(|password| Credentials { user, password });

                assert_eq!(expected, read_basic(value.as_bytes()).ok(), "{text:?}");
            }
        }
    }

    #[test]
    fn challenges() {
        for (realm, expected) in [
            ("WallyWorld", "Basic realm=\"WallyWorld\", charset=\"UTF-8\""),
            ("", "Basic realm=\"\", charset=\"UTF-8\""),
            ("a \"b\\c\"", "Basic realm=\"a \\\"b\\\\c\\\"\", charset=\"UTF-8\""),
        ] {
            let value = Realm::new(realm).map(|realm| basic_challenge(&realm));

            assert_eq!(Ok(expected.as_bytes()), value.as_deref(), "{realm}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        let shown = format!("{:?}", read_basic(b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));

        assert!(shown.contains("Aladdin") && !shown.contains("sesame"), "{shown}");
    }
}

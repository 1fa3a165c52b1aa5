//! One hash of a password, in the forms that `htpasswd`, `openssl passwd` and libraries write.

use std::fmt;

use argon2::Algorithm;

use crate::forms::{Apr1, Argon2, Bcrypt, Refused, Sha1, ShaCrypt, Width};

/// A hash against which passwords can be verified; it is well-formed, and a verification takes seconds at most.
#[derive(Clone)]
pub struct PasswordHash(Form);

#[derive(Clone)]
enum Form {
    Bcrypt(Bcrypt),
    ShaCrypt(ShaCrypt),
    Apr1(Apr1),
    Argon2(Box<Argon2>),
    Sha1(Sha1),
}

/// The longest password; a longer one is never right. `htpasswd` refuses to hash more than 255 bytes, and the cost of
/// some forms grows with the length, which the client chooses.
pub const PASSWORD_BYTES_MAX: usize = 255;

/// The reason why a text is not accepted as a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashError {
    /// The text is not a hash at all.
    Plain,
    /// The text may be a hash in the C library's oldest form, which uses 8 characters of the password and 56 bits.
    Des,
    /// The hash has a form that is not supported.
    Unknown,
    /// The text begins like this form, but the rest does not fit the form.
    Malformed(&'static str),
    /// The hash has this form, but verifying it costs too much: the form, the text before the cost's number, and the
    /// limit.
    TooCostly(&'static str, &'static str, u32),
}

impl fmt::Display for HashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HashError::Plain => {
                write!(f, "this is no hash: passwords are not kept as plain text; make one with htpasswd -B")
            }
            HashError::Des => {
                write!(
                    f,
                    "this is plain text or a DES hash, which protects no better; make one with htpasswd -B"
                )
            }
            HashError::Unknown => {
                write!(f, "hashes of this form are not supported; make one with htpasswd -B")
            }
            HashError::Malformed(form) => write!(f, "this is not a complete hash of the form {form}"),
            HashError::TooCostly(form, what, most) => {
                write!(f, "verifying this hash costs too much: {form} is accepted up to {what}{most}")
            }
        }
    }
}

impl std::error::Error for HashError {}

impl PasswordHash {
    /// Reads a hash: bcrypt, SHA-512 or SHA-256 crypt, Argon2, Apache's MD5, or `{SHA}`.
    ///
    /// # Errors
    ///
    /// [`HashError`]; a hash that was read can always be verified.
    pub fn read(text: &str) -> Result<PasswordHash, HashError> {
        let Some((name, rest)) = split_form(text) else {
            let is_des_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'/';
            let is_des = text.len() == 13 && text.bytes().all(is_des_byte);
            return Err(if is_des { HashError::Des } else { HashError::Plain });
        };
        let argon2 = |kind| Argon2::read(kind, rest).map(|argon2| Form::Argon2(Box::new(argon2)));
        let (form, read) = match name {
            "2a" | "2b" | "2y" => ("bcrypt", Bcrypt::read(rest).map(Form::Bcrypt)),
            "5" => ("SHA-256 crypt", ShaCrypt::read(Width::Sha256, rest).map(Form::ShaCrypt)),
            "6" => ("SHA-512 crypt", ShaCrypt::read(Width::Sha512, rest).map(Form::ShaCrypt)),
            "apr1" => ("APR1", Apr1::read(rest).map(Form::Apr1)),
            "argon2d" => ("Argon2", argon2(Algorithm::Argon2d)),
            "argon2i" => ("Argon2", argon2(Algorithm::Argon2i)),
            "argon2id" => ("Argon2", argon2(Algorithm::Argon2id)),
            "{SHA}" => ("{SHA}", Sha1::read(rest).map(Form::Sha1)),
            _ => return Err(HashError::Unknown),
        };
        read.map(PasswordHash).map_err(|refused| match refused {
            Refused::Malformed => HashError::Malformed(form),
            Refused::TooCostly(what, most) => HashError::TooCostly(form, what, most),
        })
    }

    /// Whether the hash was made of this password. Takes as long as the form needs, from microseconds to seconds; a
    /// wrong password takes as long as the right one.
    pub fn verify(&self, password: &[u8]) -> bool {
        // Programs that make hashes get C strings, which hold no zero byte. Bcrypt repeats its key, with a zero byte
        // between the copies, so that it would take "a" and "a\0a" for the same password.
        if password.len() > PASSWORD_BYTES_MAX || password.contains(&0) {
            return false;
        }
        match &self.0 {
            Form::Bcrypt(hash) => hash.verify(password),
            Form::ShaCrypt(hash) => hash.verify(password),
            Form::Apr1(hash) => hash.verify(password),
            Form::Argon2(hash) => hash.verify(password),
            Form::Sha1(hash) => hash.verify(password),
        }
    }

    /// Whether anyone who sees the file can soon find the password, because such a hash is fast and has no salt.
    pub fn is_weak(&self) -> bool {
        matches!(self.0, Form::Sha1(_))
    }

    /// The cost of a verification, roughly in microseconds of one core.
    pub(crate) fn work(&self) -> u64 {
        match &self.0 {
            Form::Bcrypt(hash) => hash.work(),
            Form::ShaCrypt(hash) => hash.work(),
            Form::Apr1(_) => Apr1::work(),
            Form::Argon2(hash) => hash.work(),
            Form::Sha1(_) => Sha1::work(),
        }
    }
}

impl fmt::Debug for PasswordHash {
    /// Shows nothing of the hash, which must not get into a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordHash").finish_non_exhaustive()
    }
}

/// The name of a form, and the text after it: of `$NAME$...`, or of `{NAME}...`, in which case the braces belong to the
/// name.
fn split_form(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix('$') {
        return rest.split_once('$');
    }
    let end = text.starts_with('{').then(|| text.find('}'))??;
    text.split_at_checked(end + 1)
}

#[cfg(test)]
mod tests {
    use super::{PASSWORD_BYTES_MAX, PasswordHash};

    /// Made with `openssl passwd`, with the `crypt` of libxcrypt, and with argon2-cffi.
    const MADE: [(&str, &str); 22] = [
        ("password", "$2y$05$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu"),
        ("password", "$2b$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm"),
        ("pässword", "$2a$06$......................Hw6asOG.38zaUdinrXjkHa03ujnBi6y"),
        ("", "$2y$04$abcdefghijklmnopqrstuubyCG3zY1GIXMyxfivm.ClDiInHzxjiq"),
        ("password", "$apr1$saltsalt$yAAkm4libquA.ZWLHbSBq/"),
        ("", "$apr1$x$tMwYqBfQwi3FYAr0aJc8M/"),
        ("a much longer pass word of 40 characters", "$apr1$r31.abcd$cKW5YpGNQsUvuxT3o1wkH."),
        (
            "Hello world!",
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
        ),
        (
            "Hello world!",
            "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.",
        ),
        (
            "pässword",
            "$6$rounds=1000$ab$CFmCIZ3VGgiRis6f8u1niLHdqePXX8.mci70DYXDPuY0eYS.7O42/x9Nx.Dg8lrJDQgyEM3mHPAyNahBRBO960",
        ),
        ("Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
        ("pass", "$5$rounds=1000$roundstoolow$MmLBUoX3IJgtFPlZ05Y1KPAPCRguj7NDZblXAusSj78"),
        ("", "$5$$3c2QQ0KjIU1OLtB29cl8Fplc2WN7X89bnoEjaR7tWu."),
        (
            "password",
            "$argon2id$v=19$m=64,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$Gpj7qOY5RCXJvcMzqcdQqvgR3wcPX7SleI4c9NtXk6E",
        ),
        (
            "password",
            "$argon2i$v=19$m=64,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$pbigQcuZHII9wPBZI5URmc0Lp86D/tE0caICkLhLFTQ",
        ),
        (
            "password",
            "$argon2d$v=19$m=64,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$RTUk2uYFgLQbP6uchDgOW1dycMr0wF3+Ex5+kF2Y9J8",
        ),
        ("password", "$argon2id$v=19$m=256,t=1,p=4$c29tZXNhbHQ$L6gkiq9qScRCbviT+xTwzU83RJ9K8CAZ"),
        ("password", "$argon2i$v=16$m=64,t=2,p=1$c29tZXNhbHQ$Bh21/eJH8YBDyij2rzNMFBJxlNjZOXgA8TmVH6qMZno"),
        ("password", "$argon2i$m=64,t=2,p=1$c29tZXNhbHQ$Bh21/eJH8YBDyij2rzNMFBJxlNjZOXgA8TmVH6qMZno"),
        ("password", "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="),
        (
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "$2y$04$abcdefghijklmnopqrstuu.gc7UY/21CSNJGJg21jJzx9QiOpJ9bO",
        ),
        (
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "$2y$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i",
        ),
    ];

    fn verify(hash: &str, password: &[u8]) -> Option<bool> {
        PasswordHash::read(hash).ok().map(|hash| hash.verify(password))
    }

    #[test]
    fn hashes_of_other_programs() {
        for (password, hash) in MADE {
            assert_eq!(Some(true), verify(hash, password.as_bytes()), "{hash}");
            assert_eq!(Some(false), verify(hash, format!("w{password}").as_bytes()), "{hash}");
        }
    }

    #[test]
    fn only_one_is_weak() {
        for (_, hash) in MADE {
            let is_weak = PasswordHash::read(hash).is_ok_and(|hash| hash.is_weak());

            assert_eq!(hash.starts_with("{SHA}"), is_weak, "{hash}");
        }
    }

    #[test]
    fn a_hash_that_is_cut_or_longer_is_none() {
        for (_, hash) in MADE {
            // An Argon2 hash may have one of several lengths.
            let is_argon2 = hash.starts_with("$argon2");
            let ends = if is_argon2 { hash.rfind('$').unwrap_or_default() + 20 } else { hash.len() };
            for end in 0..ends {
                assert!(PasswordHash::read(&hash[..end]).is_err(), "{}", &hash[..end]);
            }
            for more in ["!", "$", ":", "=", "ä", " "] {
                assert!(PasswordHash::read(&format!("{hash}{more}")).is_err(), "{hash}{more}");
            }
        }
    }

    #[test]
    fn passwords_that_no_program_hashes() {
        for (password, hash) in MADE {
            let repeated = format!("{password}\0{password}");
            assert_eq!(Some(false), verify(hash, repeated.as_bytes()), "{hash}");
            assert_eq!(Some(false), verify(hash, &vec![b'x'; PASSWORD_BYTES_MAX + 1]), "{hash}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let plain = "this is no hash: passwords are not kept as plain text; make one with htpasswd -B";
        let des = "this is plain text or a DES hash, which protects no better; make one with htpasswd -B";
        let unknown = "hashes of this form are not supported; make one with htpasswd -B";
        for (hash, sentence) in [
            ("", plain),
            ("secret", plain),
            ("$secret", plain),
            ("{secret", plain),
            ("abJnggxhB/yWI", des),
            ("$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/", unknown),
            ("{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", unknown),
            ("{PLAIN}secret", unknown),
            ("$2x$05$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu", unknown),
            ("$2y$03$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu", MALFORMED_BCRYPT),
            ("$2y$5$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu", MALFORMED_BCRYPT),
            ("$2y$05$abcdefghijklmnopqrstuvWG29KuyeAicPCJODk1zjyGvyQUU2awu", MALFORMED_BCRYPT),
            (
                "$2y$16$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu",
                "verifying this hash costs too much: bcrypt is accepted up to cost 15",
            ),
            (
                "$5$rounds=999$roundstoolow$MmLBUoX3IJgtFPlZ05Y1KPAPCRguj7NDZblXAusSj78",
                "this is not a complete hash of the form SHA-256 crypt",
            ),
            (
                "$5$rounds=99999999999$roundstoolow$MmLBUoX3IJgtFPlZ05Y1KPAPCRguj7NDZblXAusSj78",
                "verifying this hash costs too much: SHA-256 crypt is accepted up to rounds=2000000",
            ),
            ("$6$saltstring$svn8UoSVapNt", "this is not a complete hash of the form SHA-512 crypt"),
            ("$apr1$saltsalts$yAAkm4libquA.ZWLHbSBq/", "this is not a complete hash of the form APR1"),
            ("$apr1$saltsalt$yAAkm4libquA.ZWLHbSBqz", "this is not a complete hash of the form APR1"),
            ("{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g", "this is not a complete hash of the form {SHA}"),
            (
                "$argon2id$v=19$m=131073,t=1,p=1$c29tZXNhbHQ$L6gkiq9qScRCbviT+xTwzU83RJ9K8CAZ",
                "verifying this hash costs too much: Argon2 is accepted up to m=131072",
            ),
            (
                "$argon2id$v=19$m=65536,t=17,p=1$c29tZXNhbHQ$L6gkiq9qScRCbviT+xTwzU83RJ9K8CAZ",
                "verifying this hash costs too much: Argon2 is accepted up to m*t=1048576",
            ),
            (
                "$argon2id$v=19$m=65536,t=1,p=65$c29tZXNhbHQ$L6gkiq9qScRCbviT+xTwzU83RJ9K8CAZ",
                "verifying this hash costs too much: Argon2 is accepted up to p=64",
            ),
            ("$argon2id$v=18$m=64,t=1,p=1$c29tZXNhbHQ$L6gkiq9qScRCbviT+xTwzU83RJ9K8CAZ", MALFORMED_ARGON2),
            ("$argon2id$v=19$m=64,t=0,p=1$c29tZXNhbHQ$L6gkiq9qScRCbviT+xTwzU83RJ9K8CAZ", MALFORMED_ARGON2),
            ("$argon2id$v=19$m=4,t=1,p=1$c29tZXNhbHQ$L6gkiq9qScRCbviT+xTwzU83RJ9K8CAZ", MALFORMED_ARGON2),
            ("$argon2id$v=19$m=64,t=1$c29tZXNhbHQ$L6gkiq9qScRCbviT+xTwzU83RJ9K8CAZ", MALFORMED_ARGON2),
            ("$argon2id$v=19$m=64,t=1,p=1$c2FsdA$L6gkiq9qScRCbviT+xTwzU83RJ9K8CAZ", MALFORMED_ARGON2),
            ("$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$L6gkiq9q", MALFORMED_ARGON2),
        ] {
            let said = PasswordHash::read(hash).err().map(|error| error.to_string());

            assert_eq!(Some(sentence.to_owned()), said, "{hash}");
        }
    }

    const MALFORMED_BCRYPT: &str = "this is not a complete hash of the form bcrypt";
    const MALFORMED_ARGON2: &str = "this is not a complete hash of the form Argon2";
}

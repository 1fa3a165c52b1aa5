//! The field names that clients and proxies usually send, found by a perfect hash.

/// Declares the enum, the names and their count from one list.
macro_rules! known {
    ($($variant:ident $name:literal,)*) => {
        /// A field name that the server knows; its number is an index into tables of [`Known::COUNT`] entries.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Known {
            /// Any name that is not in the list of known names.
            Other = 0,
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        const ALL: [Known; Known::COUNT] = [Known::Other, $(Known::$variant,)*];
        const NAMES: [&str; Known::COUNT] = ["", $($name,)*];

        impl Known {
            /// Number of values, [`Known::Other`] included.
            pub const COUNT: usize = 1 $(+ { let _ = Known::$variant; 1 })*;
        }
    };
}

known! {
    Accept "Accept",
    AcceptCharset "Accept-Charset",
    AcceptEncoding "Accept-Encoding",
    AcceptLanguage "Accept-Language",
    AccessControlRequestHeaders "Access-Control-Request-Headers",
    AccessControlRequestMethod "Access-Control-Request-Method",
    AltUsed "Alt-Used",
    Authorization "Authorization",
    Baggage "Baggage",
    CacheControl "Cache-Control",
    CdnLoop "CDN-Loop",
    Connection "Connection",
    ContentDisposition "Content-Disposition",
    ContentEncoding "Content-Encoding",
    ContentLanguage "Content-Language",
    ContentLength "Content-Length",
    ContentLocation "Content-Location",
    ContentRange "Content-Range",
    ContentType "Content-Type",
    Cookie "Cookie",
    Date "Date",
    Dnt "DNT",
    Expect "Expect",
    Forwarded "Forwarded",
    From "From",
    Host "Host",
    Http2Settings "HTTP2-Settings",
    IdempotencyKey "Idempotency-Key",
    IfMatch "If-Match",
    IfModifiedSince "If-Modified-Since",
    IfNoneMatch "If-None-Match",
    IfRange "If-Range",
    IfUnmodifiedSince "If-Unmodified-Since",
    KeepAlive "Keep-Alive",
    LastEventId "Last-Event-ID",
    MaxForwards "Max-Forwards",
    Origin "Origin",
    Pragma "Pragma",
    Prefer "Prefer",
    Priority "Priority",
    Proxy "Proxy",
    ProxyAuthorization "Proxy-Authorization",
    ProxyConnection "Proxy-Connection",
    Purpose "Purpose",
    Range "Range",
    Referer "Referer",
    SaveData "Save-Data",
    SecChUa "Sec-CH-UA",
    SecChUaArch "Sec-CH-UA-Arch",
    SecChUaBitness "Sec-CH-UA-Bitness",
    SecChUaFullVersionList "Sec-CH-UA-Full-Version-List",
    SecChUaMobile "Sec-CH-UA-Mobile",
    SecChUaModel "Sec-CH-UA-Model",
    SecChUaPlatform "Sec-CH-UA-Platform",
    SecChUaPlatformVersion "Sec-CH-UA-Platform-Version",
    SecFetchDest "Sec-Fetch-Dest",
    SecFetchMode "Sec-Fetch-Mode",
    SecFetchSite "Sec-Fetch-Site",
    SecFetchUser "Sec-Fetch-User",
    SecGpc "Sec-GPC",
    SecPurpose "Sec-Purpose",
    SecWebSocketExtensions "Sec-WebSocket-Extensions",
    SecWebSocketKey "Sec-WebSocket-Key",
    SecWebSocketProtocol "Sec-WebSocket-Protocol",
    SecWebSocketVersion "Sec-WebSocket-Version",
    Server "Server",
    Te "TE",
    Traceparent "Traceparent",
    Tracestate "Tracestate",
    Trailer "Trailer",
    TransferEncoding "Transfer-Encoding",
    Upgrade "Upgrade",
    UpgradeInsecureRequests "Upgrade-Insecure-Requests",
    UserAgent "User-Agent",
    Via "Via",
    XClientIp "X-Client-IP",
    XCsrfToken "X-CSRFToken",
    XForwardedFor "X-Forwarded-For",
    XForwardedHost "X-Forwarded-Host",
    XForwardedHttps "X-Forwarded-HTTPS",
    XForwardedPort "X-Forwarded-Port",
    XForwardedPrefix "X-Forwarded-Prefix",
    XForwardedProto "X-Forwarded-Proto",
    XForwardedScheme "X-Forwarded-Scheme",
    XForwardedScriptName "X-Forwarded-Script-Name",
    XForwardedServer "X-Forwarded-Server",
    XForwardedSsl "X-Forwarded-SSL",
    XHost "X-Host",
    XHttps "X-HTTPS",
    XHttpMethodOverride "X-HTTP-Method-Override",
    XRealIp "X-Real-IP",
    XRequestId "X-Request-ID",
    XRequestedWith "X-Requested-With",
    XScheme "X-Scheme",
    XScriptName "X-Script-Name",
}

impl Known {
    /// The known field of this name, regardless of case; [`Known::Other`] if there is none.
    #[inline]
    pub fn find(name: &[u8]) -> Known {
        if name.len() < NAME_BYTES_MIN {
            return Known::Other;
        }
        let known = SLOTS[slot(name, SEED)];
        if is_same(known.name().as_bytes(), name) { known } else { Known::Other }
    }

    /// The name as its specification spells it; empty for [`Known::Other`].
    #[inline]
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// All values in the order of their numbers; [`Known::Other`] has the number 0.
    pub fn all() -> impl Iterator<Item = Known> {
        ALL.into_iter()
    }

    /// The bit of this name in a set.
    #[inline]
    pub const fn bit(self) -> u128 {
        1 << self as u8
    }
}

/// A set of names is a `u128` with a bit for each name.
const _: () = assert!(Known::COUNT <= 128);

/// Whether `name` equals `known` regardless of case; `known` must hold only letters, digits and hyphens.
///
/// The simple form is `known.eq_ignore_ascii_case(name)`. This function compares eight bytes at a time; the last eight
/// may overlap the bytes before them.
#[inline]
fn is_same(known: &[u8], name: &[u8]) -> bool {
    if known.len() != name.len() {
        return false;
    }
    if let (Some(known_end), Some(end)) = (known.last_chunk::<8>(), name.last_chunk::<8>()) {
        let starts = known.as_chunks::<8>().0.iter().zip(name.as_chunks::<8>().0);
        return starts.fold(differences(*known_end, *end), |all, (a, b)| all | differences(*a, *b)) == 0;
    }
    if let (Some(known_end), Some(end)) = (known.last_chunk::<4>(), name.last_chunk::<4>())
        && let (Some(known_start), Some(start)) = (known.first_chunk::<4>(), name.first_chunk::<4>())
    {
        let join = |[a, b, c, d]: [u8; 4], [e, f, g, h]: [u8; 4]| [a, b, c, d, e, f, g, h];
        return differences(join(*known_start, *known_end), join(*start, *end)) == 0;
    }
    known.eq_ignore_ascii_case(name)
}

/// Returns the bits in which `name` differs from `known`. Bit 5 is ignored in the letters of `known`, which are its
/// bytes with bit 6 set. In all other bytes, bit 5 counts: otherwise a carriage return would equal a hyphen.
#[inline]
fn differences(known: [u8; 8], name: [u8; 8]) -> u64 {
    let (known, name) = (u64::from_le_bytes(known), u64::from_le_bytes(name));
    (known ^ name) & !((known & 0x4040_4040_4040_4040) >> 1)
}

/// Length of the shortest known name, `TE`; [`slot`] reads the last byte but one.
const NAME_BYTES_MIN: usize = 2;

/// Number of slots of the hash table: a kilobyte, so large that a seed without a collision is soon found.
const SLOTS_BITS: u32 = 10;

/// The first multiplier for which no two names share a slot; found at compile time.
const SEED: u32 = seed();
const SLOTS: [Known; 1 << SLOTS_BITS] = slots();

/// Returns the slot of a name. Its length and four of its bytes distinguish all known names; bit 5 of each byte is set,
/// so that the case of letters does not matter.
#[inline]
const fn slot(name: &[u8], seed: u32) -> usize {
    let n = name.len();
    let bytes = u32::from_le_bytes([name[0], name[n / 2], name[n - 2], name[n - 1]]) | 0x2020_2020;
    #[expect(clippy::cast_possible_truncation, reason = "only the lower bits of the length matter")]
    let key = bytes ^ ((n as u32) << 11);
    (key.wrapping_mul(seed) >> (32 - SLOTS_BITS)) as usize
}

const fn seed() -> u32 {
    let mut seed = 0x9e37_79b1_u32;
    while !is_perfect(seed) {
        seed = seed.wrapping_add(2);
    }
    seed
}

const fn is_perfect(seed: u32) -> bool {
    let mut taken = [false; 1 << SLOTS_BITS];
    let mut i = 1;
    while i < Known::COUNT {
        let slot = slot(NAMES[i].as_bytes(), seed);
        if taken[slot] {
            return false;
        }
        taken[slot] = true;
        i += 1;
    }
    true
}

const fn slots() -> [Known; 1 << SLOTS_BITS] {
    let mut slots = [Known::Other; 1 << SLOTS_BITS];
    let mut i = 1;
    while i < Known::COUNT {
        slots[slot(NAMES[i].as_bytes(), SEED)] = ALL[i];
        i += 1;
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_every_case() {
        for known in Known::all().skip(1) {
            let name = known.name();

            assert!(name.len() >= NAME_BYTES_MIN && name.bytes().all(crate::bytes::is_plain_byte), "{name}");
            for spelling in [name.to_owned(), name.to_ascii_lowercase(), name.to_ascii_uppercase()] {
                assert_eq!(known, Known::find(spelling.as_bytes()), "{spelling}");
            }
        }
        assert_eq!(Known::COUNT, Known::all().count());
    }

    #[test]
    fn no_other_name_is_found() {
        for known in Known::all() {
            let name = known.name().as_bytes();
            for i in 0..name.len() {
                let mut other = name.to_vec();
                other[i] ^= 0x40;
                assert_eq!(Known::Other, Known::find(&other), "{}", other.escape_ascii());
                // A carriage return differs from a hyphen only in bit 5.
                other[i] = name[i] & !0x20;
                if !name[i].is_ascii_alphabetic() {
                    assert_eq!(Known::Other, Known::find(&other), "{}", other.escape_ascii());
                }
                assert_eq!(Known::Other, Known::find(&[name, b"x"].concat()));
            }
        }
        for other in ["", "x", "-", "xx", "Hosts", "Content_Length"] {
            assert_eq!(Known::Other, Known::find(other.as_bytes()), "{other}");
        }
    }
}

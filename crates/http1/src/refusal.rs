//! Why a request is refused, and how a parser stops.

/// The fault of a request, which is the peer's, and the status to answer before the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status to answer: 400, 414, 417, 431, 501 or 505.
    pub status: u16,
    /// One sentence for the log and the body; holds nothing that the peer sent.
    pub reason: &'static str,
}

impl Refusal {
    pub(crate) const fn new(status: u16, reason: &'static str) -> Refusal {
        Refusal { status, reason }
    }

    /// Makes the plain "400 Bad Request".
    pub(crate) const fn bad(reason: &'static str) -> Refusal {
        Refusal { status: 400, reason }
    }
}

/// Why a parser stopped before the end of what it was to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// The bytes end too early; more may come.
    Short,
    /// No further byte can make this a request.
    Refused(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

impl Stop {
    /// Turns `Short` into a refusal if the parser was shown a `cut` line: if it wanted more, the line is too
    /// long.
    pub(crate) fn or_too_long(self, cut: bool, too_long: Refusal) -> Stop {
        match self {
            Stop::Short if cut => Stop::Refused(too_long),
            stop => stop,
        }
    }
}

//! Why a request is refused, and why a parser stops.

/// A fault of a request, for which the peer is to blame, and the status to answer before the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status to answer: 400, 414, 417, 431, 501 or 505.
    pub status: u16,
    /// One sentence for the log and the body; it holds no bytes that the peer sent.
    pub reason: &'static str,
}

impl Refusal {
    pub(crate) const fn new(status: u16, reason: &'static str) -> Refusal {
        Refusal { status, reason }
    }

    /// Makes a refusal with the status 400.
    pub(crate) const fn bad(reason: &'static str) -> Refusal {
        Refusal { status: 400, reason }
    }
}

/// The reason why a parser stopped before the end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// The bytes end too early; more may come.
    Short,
    /// No further byte can make this a valid request.
    Refused(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

impl Stop {
    /// Turns `Short` into a refusal if the parser was shown only the beginning of the line (`cut`): a line that goes on
    /// after its limit is too long.
    pub(crate) fn or_too_long(self, cut: bool, too_long: Refusal) -> Stop {
        match self {
            Stop::Short if cut => Stop::Refused(too_long),
            stop => stop,
        }
    }
}

//! What a guard's program has said.

use crate::answering::verdict::Verdict;
use crate::client::body::OwnedBody;

/// What a program has said of a request's credentials; the request is answered as if it had come now. Only the server makes
/// it.
pub struct Judged {
    pub(crate) verdict: Verdict,
    /// The request's body, if it was given to the program.
    pub(crate) body: Option<OwnedBody>,
}

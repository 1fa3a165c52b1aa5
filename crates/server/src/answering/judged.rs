//! The verdict of a guard's program.

use crate::answering::verdict::Verdict;
use crate::client::body::OwnedBody;

/// A program's verdict on a request's credentials; with the verdict, the request is answered as if it had come now.
/// Only the server makes such a value.
pub struct Judged {
    pub(crate) verdict: Verdict,
    /// The request's body, if it was given to the program.
    pub(crate) body: Option<OwnedBody>,
}

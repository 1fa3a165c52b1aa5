//! Reasons why there is no report.

/// The reason why there is no report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The plan contradicts itself: a sentence.
    Plan(String),
    /// The server does not answer as it should before anything is measured, or the kernel refuses: a sentence.
    Refused(String),
}

//! The request that a thread serves: entries that the thread writes meanwhile belong to it.

use crate::output;
pub use crate::request_id::{GIVEN_BYTES_MAX, RequestId, RequestIds};
use crate::request_id::{clear_current, set_current, with_current};

/// Notes that this thread serves request `id` from now on.
pub fn enter(id: &RequestId) {
    set_current(id);
}

/// Notes that this thread serves no request any more.
pub fn leave() {
    output::end_lines();
    clear_current();
}

/// Returns the id of the request that this thread serves.
pub fn current() -> Option<String> {
    with_current(|id| id.map(ToString::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_knows_its_request() {
        assert_eq!(None, current());

        enter(&RequestIds::new(0).next(Some(b"first"), None));

        assert_eq!(Some("first".to_owned()), current());
        assert_eq!(None, std::thread::spawn(current).join().unwrap_or_default());

        leave();

        assert_eq!(None, current());
    }
}

//! Lines between a supervisor and its workers: each whole line is one message or none, however the bytes are cut.

use std::os::fd::AsFd;

use adyton_process::{Channel, FromWorker};
use adyton_sys::{pass, socket};

/// Time to wait for a descriptor to close, which runs out only if one stays open.
const PATIENCE_MS: u64 = 10_000;

/// Panics unless `stream`, sent in pieces of these sizes, is read as the messages of its whole lines.
///
/// A descriptor comes with each piece of odd size. The receiver does not expect it, so it must not stay open.
pub(crate) fn check(sizes: [u8; 4], stream: &[u8]) {
    let (ours, theirs) = socket::pair().expect("two sockets");
    let mut channel = Channel::new(ours);
    let (unasked, witness) = socket::pair().expect("two sockets");
    let mut came: Vec<FromWorker> = Vec::new();
    let mut rest = stream;
    for &size in sizes.iter().cycle() {
        let (piece, behind) = rest.split_at(rest.len().min(usize::from(size) + 1));
        if piece.is_empty() {
            break;
        }
        let descriptors = [unasked.as_fd()];
        pass::send(&theirs, piece, &descriptors[..usize::from(size % 2)]).expect("room for a piece");
        came.extend(channel.receive::<FromWorker>());

        assert!(!channel.has_ended(), "{}", crate::show(stream));
        rest = behind;
    }
    let expected = twin(stream);

    assert_eq!(expected, came, "{}", crate::show(stream));

    drop(theirs);
    wait(&channel);

    assert_eq!(Vec::<FromWorker>::new(), channel.receive(), "{}", crate::show(stream));
    assert!(channel.has_ended(), "{}", crate::show(stream));

    drop(unasked);
    wait(&witness);

    assert_eq!(Some(0), socket::peek(&witness).expect("an open socket"), "a descriptor stays open");
}

/// Waits until the other end is closed: a thread that lists the descriptors of this process may keep that end open for
/// a moment.
fn wait(end: impl AsFd) {
    let has_closed = socket::wait(end, socket::Until::Readable, PATIENCE_MS);
    assert!(has_closed.expect("an open socket"), "a descriptor stays open");
}

/// Returns the messages of a stream, one for each line that ends and is a message.
fn twin(stream: &[u8]) -> Vec<FromWorker> {
    let mut messages = Vec::new();
    let mut line = Vec::new();
    for &byte in stream {
        if byte == b'\n' {
            messages.extend(serde_json::from_slice::<FromWorker>(&line));
            line.clear();
        } else {
            line.push(byte);
        }
    }
    messages
}

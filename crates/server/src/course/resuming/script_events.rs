//! Scripts that are started, heard and ended.

use std::io;
use std::os::fd::AsFd as _;

use adyton_files::programs::CHANGING;
use adyton_http::Known;
use adyton_log::{self as log, messages};
use adyton_spawn::{Heard, Input};
use adyton_sys::{clock, socket};

use crate::answering::errand::Errand;
use crate::answering::exchange::{Exchange, RequestBytes, parse_again};
use crate::board::tally::Cell;
use crate::cgi::{Ends, Permit, Script, ScriptPart, ScriptStage, WantedScript, order};
use crate::client::body::OwnedBody;
use crate::course::resuming::awaited::fail_waiting;
use crate::course::resuming::script_answer::{SCRIPT_FAILED, read_script_head};
use crate::course::resuming::turning::give_turn;
use crate::course::scripting::{ERRORS_BYTES, forget_done, release_script};
use crate::event_loop::{Awaited, Loop};
use crate::threads::desk::Desk;
use crate::threads::shared::Shared;

/// Starts the script of a connection's request, if the request still waits for the place that it has now.
pub(crate) fn take_place(driven: &mut Loop, key: usize, desk: &mut Desk) -> Option<Errand> {
    let waiting = driven.tickets.waiting.get_mut(&key)?;
    let Awaited::Place(seat, _) = &waiting.awaits else { return None };
    let place = seat.take()?;
    let Awaited::Place(_, mut wanted) = std::mem::replace(&mut waiting.awaits, Awaited::Script) else {
        return None;
    };
    waiting.due_ms = None;
    waiting.since_ms = clock::monotonic_ms();
    // A body is read live only if the folder had no rule about programs when the head was read; so the folder has
    // changed since then.
    let looked = if has_live_body(&waiting.exchange) { Err(CHANGING) } else { wanted.look_again() };
    let started = looked.map(|()| start(&mut waiting.exchange, &wanted, place, desk, &driven.shared));
    if driven.connections.has_ended(key) {
        driven.expect_departed(key);
    } else {
        driven.timers.clear(key);
    }
    let started = match started {
        Ok(started) => started,
        Err(missing) => return fail_waiting(driven, key, desk, missing.status, missing.detail),
    };
    match started.and_then(|script| watch_script(driven, script, key)) {
        Ok(()) => None,
        Err(error) => {
            let id = driven.tickets.waiting.get(&key).map(|waiting| waiting.exchange.answer.id.clone());
            let name = wanted.shown();
            log::write_about(
                id.as_ref(),
                &messages::SCRIPT_FAILED,
                format_args!("{name} cannot be run: {error}"),
            );
            let (status, detail) = match error.kind() {
                io::ErrorKind::WouldBlock => (503, "Too many scripts are being started."),
                _ => (500, SCRIPT_FAILED),
            };
            fail_waiting(driven, key, desk, status, detail)
        }
    }
}

/// Keeps a script that answers the request of a connection, and watches its output.
fn watch_script(driven: &mut Loop, script: Script, key: usize) -> io::Result<()> {
    let number = driven.scripts.next_number();
    for part in ScriptPart::ALL {
        if let Some(descriptor) = script.watched(part) {
            driven.poll_script(number, part, descriptor)?;
        }
    }
    driven.scripts.insert(script, key);
    Ok(())
}

/// Handles an event of a part of a script, such as new output.
pub(crate) fn hear_script(
    driven: &mut Loop,
    number: usize,
    part: ScriptPart,
    desk: &mut Desk,
) -> Option<Errand> {
    let script = driven.scripts.get_mut(number)?;
    match part {
        ScriptPart::Errors => {
            let most = desk.buffer.len().min(ERRORS_BYTES);
            script.read_errors(&mut desk.buffer[..most]);
            None
        }
        ScriptPart::Output => go_on_with_script(driven, number, desk),
        ScriptPart::Line => match script.hear()? {
            Heard::Exit(_) => {
                forget_done(driven, number, desk);
                go_on_with_script(driven, number, desk)
            }
            Heard::NotStarted(_) | Heard::Gone => {
                let client = script.client;
                let mut script = driven.scripts.remove(number)?;
                script.read_last_words(&mut desk.buffer[..ERRORS_BYTES]);
                // The script is dropped, and its place free, before the next request is read.
                drop(script);
                fail_script(driven, client?, desk)
            }
        },
    }
}

/// Goes on with the answer of a script, after more output has come or the script's exit has become known.
fn go_on_with_script(driven: &mut Loop, number: usize, desk: &mut Desk) -> Option<Errand> {
    let script = driven.scripts.get_mut(number)?;
    let key = script.client?;
    match script.stage {
        ScriptStage::Head(..) => read_script_head(driven, number, key, desk),
        ScriptStage::Body => give_turn(driven, key, false, desk),
        ScriptStage::Over => None,
    }
}

/// Handles a script whose time may be over.
pub(crate) fn end_script(driven: &mut Loop, number: usize, desk: &mut Desk) -> Option<Errand> {
    let now_ms = driven.now_ms;
    let script = driven.scripts.get_mut(number)?;
    if script.due_ms().is_none_or(|due_ms| due_ms > now_ms) {
        return None;
    }
    let client = script.client;
    if let Some(key) = client
        && is_client_slow(driven, key)
    {
        // The script waits for its client, and the server does not wait for the script.
        driven.scripts.get_mut(number)?.give_time(now_ms);
        return None;
    }
    let script = driven.scripts.get_mut(number)?;
    if script.has_ended_output() && client.is_some() {
        // The script has closed its output, and goes on with something else.
        let errand = go_on_with_script(driven, number, desk);
        if let Some(script) = driven.scripts.get_mut(number) {
            script.give_time(now_ms);
        }
        return errand;
    }
    log::write_about(
        Some(&script.id),
        &messages::SCRIPT_TIMEOUT,
        format_args!("{} gave nothing for too long; it was ended", script.name),
    );
    script.end();
    let is_head = matches!(script.stage, ScriptStage::Head(..));
    let key = client?;
    driven.shared.tally.count(Cell::TimedOut);
    release_script(driven, key, desk);
    if is_head {
        fail_waiting(driven, key, desk, 504, SCRIPT_SLOW)
    } else {
        give_turn(driven, key, false, desk)
    }
}

/// Whether the client still has bytes to take before more of the script's output is read.
fn is_client_slow(driven: &Loop, key: usize) -> bool {
    let here = driven.connections.get(key).and_then(|slot| slot.here());
    here.is_some_and(|connection| !connection.outbox().output.is_empty())
}

/// Goes on with a connection whose script has gone without an answer.
fn fail_script(driven: &mut Loop, key: usize, desk: &mut Desk) -> Option<Errand> {
    if driven.is_waiting(key) {
        return fail_waiting(driven, key, desk, 500, SCRIPT_FAILED);
    }
    give_turn(driven, key, false, desk)
}

/// Whether the body of a request is read while it is answered, which applications can do and scripts cannot.
fn has_live_body(exchange: &Exchange) -> bool {
    matches!(&exchange.request, RequestBytes::Owned(owned) if matches!(owned.body, OwnedBody::Live(_)))
}

const SCRIPT_SLOW: &str = "The script takes too long.";

/// Starts a script for the request of an exchange.
fn start(
    exchange: &mut Exchange,
    wanted: &WantedScript,
    place: Permit,
    desk: &mut Desk,
    shared: &Shared,
) -> io::Result<Script> {
    let Exchange { request: RequestBytes::Owned(owned), answer, .. } = exchange else {
        return Err(io::Error::other("the request is not here"));
    };
    parse_again(&mut desk.head, &owned.head, &shared.config.head);
    let outbox = answer.outbox();
    let (peer, local) = (outbox.peer, socket::local_address(&outbox.transport).ok().flatten());
    let body = std::mem::replace(&mut owned.body, OwnedBody::Empty);
    let request = desk.head.of(&owned.head);
    let body_bytes = match &body {
        // A request without a body has no length (RFC 3875 section 4.1.2), and a request with an empty body has one.
        OwnedBody::Empty => {
            let has_body = request.has(Known::ContentLength) || request.has(Known::TransferEncoding);
            has_body.then_some(0)
        }
        OwnedBody::Memory(pieces) => Some(pieces.len() as u64),
        OwnedBody::File(stored) => Some(stored.len()),
        OwnedBody::Live(_) => return Err(io::Error::other("the body is not here")),
    };
    let ends = Ends { client: answer.client(peer), local, body_bytes };
    let order = order(wanted, request, answer.asker.as_deref(), &ends);
    let in_memory = if let OwnedBody::Memory(pieces) = &body { pieces.to_vec() } else { Vec::new() };
    let input = match &body {
        OwnedBody::Memory(_) => Input::Bytes(&in_memory),
        OwnedBody::File(stored) => Input::File(stored.as_fd()),
        OwnedBody::Empty | OwnedBody::Live(_) => Input::Empty,
    };
    let input = input.open()?;
    let program = shared.spawner.start(&order, input.as_fd())?;
    let stored = if let OwnedBody::File(stored) = body { Some(stored) } else { None };
    let (name, id) = (wanted.shown(), answer.id.clone());
    let now_ms = clock::monotonic_ms();
    let mut script = Script::new(name, id, program, place, stored, wanted.cgi.timeout_ms, now_ms);
    script.is_unparsed = wanted.is_unparsed();
    Ok(script)
}

//! Answers of scripts: their heads are read, and their answers begun.

use adyton_cgi::{Answer as Said, BadHead, HEAD_BYTES_MAX, Head, answer, find_end, status_of};
use adyton_http::{BadResponse, BodySize, reason_phrase};
use adyton_log::{self as log, messages};

use crate::answering::errand::Errand;
use crate::cgi::{ScriptOutput, ScriptStage};
use crate::course::resuming::awaited::{Rest, answer_waiting};
use crate::course::scripting::{READ_BYTES, release_script};
use crate::event_loop::Loop;
use crate::threads::desk::Desk;

/// Text of the error page for clients of a script that has failed.
pub(crate) const SCRIPT_FAILED: &str = "The script has failed.";

/// The result of reading the beginning of a script's output.
enum Begun {
    /// The head is not whole.
    NotYet,
    /// The answer has begun, perhaps with an errand for the driver.
    Answer(Option<Errand>),
}

/// Reads the head of a script's answer, as far as it has come, and begins the answer when it is whole.
pub(crate) fn read_script_head(
    driven: &mut Loop,
    number: usize,
    key: usize,
    desk: &mut Desk,
) -> Option<Errand> {
    let now_ms = driven.now_ms;
    let script = driven.scripts.get_mut(number)?;
    let most = desk.buffer.len().min(READ_BYTES);
    let ScriptStage::Head(mut bytes, seen) = std::mem::replace(&mut script.stage, ScriptStage::Over) else {
        return None;
    };
    let end = loop {
        match script.read(&mut desk.buffer[..most], now_ms) {
            ScriptOutput::Bytes(read) => bytes.extend_from_slice(&desk.buffer[..read]),
            ScriptOutput::Nothing => break None,
            ScriptOutput::End { is_whole } => break Some(is_whole),
        }
        if bytes.len() > HEAD_BYTES_MAX {
            break None;
        }
    };
    if end.is_none() && script.has_ended_output() {
        // The script's exit will tell whether that was all of its output.
        script.stage = ScriptStage::Head(bytes, seen);
        return None;
    }
    let found = if script.is_unparsed {
        begin_unparsed(driven, key, &bytes, end, desk)
    } else {
        begin_parsed(driven, key, &bytes, seen, end, desk)
    };
    match found {
        Ok(Begun::Answer(errand)) => errand,
        Ok(Begun::NotYet) if end.is_some() => refuse_head(driven, number, key, &BadHead::Ended, desk),
        Ok(Begun::NotYet) => {
            let seen = bytes.len();
            driven.scripts.get_mut(number)?.stage = ScriptStage::Head(bytes, seen);
            None
        }
        Err(wrong) => refuse_head(driven, number, key, &wrong, desk),
    }
}

/// Begins an answer with a head that the server parses, as soon as it is whole. `end`: `None` until the output has
/// ended, and then whether it has ended well.
fn begin_parsed(
    driven: &mut Loop,
    key: usize,
    bytes: &[u8],
    seen: usize,
    end: Option<bool>,
    desk: &mut Desk,
) -> Result<Begun, BadHead> {
    let Some((lines, body_at)) = find_end(bytes, seen) else {
        return if bytes.len() > HEAD_BYTES_MAX { Err(BadHead::TooLong) } else { Ok(Begun::NotYet) };
    };
    if lines > HEAD_BYTES_MAX {
        return Err(BadHead::TooLong);
    }
    let head = Head::parse(&bytes[..lines])?;
    let (status, reason) = match answer(&head)? {
        Said::LocalRedirect(target) => {
            // The script's output is not used any further (RFC 3875 section 6.2.2).
            return Ok(Begun::Answer(answer_waiting(driven, key, desk, |reply, _| {
                reply.send_on(target);
                Rest::Nothing
            })));
        }
        Said::Document { status, reason: b"" } => (status, reason_phrase(status).as_bytes()),
        Said::Document { status, reason } => (status, reason),
    };
    let rest = &bytes[body_at..];
    let size = if end.is_some() { BodySize::Known(rest.len() as u64) } else { BodySize::Unknown };
    note_body_begins(driven, key, end, desk);
    Ok(Begun::Answer(answer_waiting(driven, key, desk, |reply, _| {
        if end == Some(false) {
            reply.fail(500, SCRIPT_FAILED);
            return Rest::Nothing;
        }
        let written: Result<(), BadResponse> = reply.head(status, reason, size, |out| {
            head.fields_for(status).try_for_each(|(name, value)| out.field(name, value))
        });
        if let Err(error) = written {
            let text = format_args!("a script's head cannot be sent: {error}");
            log::write_about(Some(reply.request_id()), &messages::SCRIPT_FAILED, text);
            reply.fail(500, SCRIPT_FAILED);
            return Rest::Nothing;
        }
        reply.write(rest);
        if end.is_some() { Rest::Nothing } else { Rest::Output }
    })))
}

/// Begins an answer that goes to the client as it is, as soon as its first line is whole.
fn begin_unparsed(
    driven: &mut Loop,
    key: usize,
    bytes: &[u8],
    end: Option<bool>,
    desk: &mut Desk,
) -> Result<Begun, BadHead> {
    let Some(status) = status_of(bytes)? else { return Ok(Begun::NotYet) };
    note_body_begins(driven, key, end, desk);
    Ok(Begun::Answer(answer_waiting(driven, key, desk, |reply, _| {
        reply.begin_raw(status);
        reply.write(bytes);
        match end {
            None => Rest::Output,
            Some(true) => Rest::Nothing,
            Some(false) => {
                reply.abort();
                Rest::Nothing
            }
        }
    })))
}

/// Notes that the head of a script's answer is whole, and perhaps the whole output.
fn note_body_begins(driven: &mut Loop, key: usize, end: Option<bool>, desk: &mut Desk) {
    if end.is_some() {
        release_script(driven, key, desk);
    } else if let Some(script) =
        driven.scripts.of_client(key).and_then(|number| driven.scripts.get_mut(number))
    {
        script.stage = ScriptStage::Body;
    }
}

/// Ends a script that has printed no valid head, and answers its client with an error.
fn refuse_head(
    driven: &mut Loop,
    number: usize,
    key: usize,
    wrong: &BadHead,
    desk: &mut Desk,
) -> Option<Errand> {
    let script = driven.scripts.get_mut(number)?;
    log::write_about(Some(&script.id), &messages::SCRIPT_FAILED, format_args!("{}: {wrong}", script.name));
    script.end();
    release_script(driven, key, desk);
    answer_waiting(driven, key, desk, |reply, _| {
        reply.fail(500, SCRIPT_FAILED);
        Rest::Nothing
    })
}

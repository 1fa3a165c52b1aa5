//! The answers of folders: files, pages and programs, by the rules of the folders on the way.

use std::sync::Arc;

use adyton_files::programs::CHANGING;
use adyton_files::runs::Runs;
use adyton_files::scripts::Unnamed;
use adyton_files::{Ask as FileAsk, FileAnswer, Folder};
use adyton_http::Request;

use crate::answering::answer::Answer;
use crate::answering::reply::Reply;
use crate::course::routing::NO_WEB_SOCKETS;
use crate::course::routing::asking::{
    Asking, Inside, Moment, Replies, Routed, Ruled, is_for_server, is_web_socket, write_folder_answer,
};
use crate::course::routing::rules::{enter, lead, lead_behind, rewritten};
use crate::folders::{Folders, Place};
use crate::site::other_names::names_of;
use crate::site::plan::Action;

/// Answers with a file; `None` if there is no such file.
pub(crate) fn answer_with_file(
    answer: &mut Answer,
    inside: Inside<'_>,
    folders: &mut [Folder],
    moment: Moment,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    match &inside.route.action {
        Action::Folders(own) => {
            answer_in(answer, inside, own, &mut folders[own.number], moment, asking, replies)
        }
        Action::Files(number) => {
            serve_at(answer, inside, &mut folders[*number], None, moment.looks, asking, replies)
                .unwrap_or_default()
        }
        _ => None,
    }
}

/// Answers with a file, a page or a program of a folder, by the rules of the folders on the way; `None` if there is no
/// such file.
pub(crate) fn answer_in(
    answer: &mut Answer,
    inside: Inside<'_>,
    folders: &Folders,
    folder: &mut Folder,
    moment: Moment,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    let Inside { site, path, own_bytes, .. } = inside;
    let rest = path.get(own_bytes..).unwrap_or_default();
    let mut place = folders.place_of(rest, &site.terms, moment.now_ms);
    for _ in 0..CHANGES_MAX {
        if let Some(routed) = enter(answer, &place, asking, replies) {
            return Some(routed);
        }
        if let Some((found, bytes)) = place.answer(rest) {
            let raw_bytes = site.raw_bytes(asking.request.path(), own_bytes + bytes);
            write_folder_answer(&mut replies.to(answer), found, asking.request, raw_bytes);
            return Some(Routed::Answered);
        }
        let own = Ruled { folders, place: &place };
        if place.runs.has_pages()
            && let Some(routed) = ask_page(answer, inside, own, asking, replies)
        {
            return Some(routed);
        }
        if let Some(runs) = place.runs.programs()
            && let Some(routed) = run_in(answer, inside, own, runs, asking, replies)
        {
            return Some(routed);
        }
        if let Ok(served) = serve_at(answer, inside, folder, Some(own), moment.looks, asking, replies) {
            let served = served.or_else(|| refuse_scripts(answer, inside, &place, asking.request, replies));
            if served.is_none() {
                answer.outbox().terms = Arc::clone(&site.terms);
            }
            return served;
        }
        place = folders.place_now(rest, &site.terms, moment.now_ms);
        answer.outbox().terms = Arc::clone(&site.terms);
    }
    replies.to(answer).fail(503, FOLDER_CHANGING);
    Some(Routed::Answered)
}

/// The most attempts at a path whose folders change while it is answered.
const CHANGES_MAX: usize = 4;

/// Has a program answer, if the path names one in a folder in which some files are run; else returns `None`.
fn run_in(
    answer: &mut Answer,
    inside: Inside<'_>,
    Ruled { folders, place }: Ruled<'_>,
    runs: &Arc<Runs>,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    let request = asking.request;
    let Inside { number, path, own_bytes, .. } = inside;
    let cgi = folders.cgi().filter(|_| !is_for_server(request))?;
    let wanted = match cgi.wanted_among(path, own_bytes, runs) {
        Ok(wanted) => wanted?,
        Err(missing) => {
            replies.to(answer).fail(missing.status, missing.detail);
            return Some(Routed::Answered);
        }
    };
    let name = wanted.name().get(own_bytes..).unwrap_or_default();
    if !place.is_file(name) {
        replies.to(answer).fail(CHANGING.status, CHANGING.detail);
        return Some(Routed::Answered);
    }
    // A refusal of the program's name counts for all paths behind that name, too.
    if let Some(refusal) = place.refusal(name) {
        write_folder_answer(&mut replies.to(answer), refusal, request, 0);
        return Some(Routed::Answered);
    }
    let led = lead_behind(answer, inside, wanted.name(), asking, replies);
    Some(led.unwrap_or(Routed::Script(number, wanted)))
}

/// Has a Python page answer, if the path names one in a folder with pages; else returns `None`.
fn ask_page(
    answer: &mut Answer,
    inside: Inside<'_>,
    Ruled { folders, place }: Ruled<'_>,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    let request = asking.request;
    let Inside { number, path, own_bytes, .. } = inside;
    let pages = folders.pages().filter(|_| !is_for_server(request))?;
    let rest = path.get(own_bytes..)?;
    let is_of_folder = |file: &[u8]| !rest.get(1..).is_some_and(|rest| rest.starts_with(file));
    match pages.files.find(rest) {
        Ok((named, _)) if !place.runs.is_page(&named.file) => return None,
        // The folder's rule about index files decides which file answers for it.
        Ok((named, _)) if place.indexes.is_some() && is_of_folder(&named.file) => return None,
        Err(Unnamed::Unslashed) if place.indexes.is_some() => return None,
        Ok(_) if !place.runs.may_ask_pages() => {
            replies.to(answer).fail(403, NOT_RUN);
            return Some(Routed::Answered);
        }
        Ok((named, _)) => {
            let file = [b"/", &*named.file].concat();
            if let Some(refusal) = place.refusal(&file) {
                write_folder_answer(&mut replies.to(answer), refusal, request, 0);
                return Some(Routed::Answered);
            }
            let name = [&path[..own_bytes], &file].concat();
            let is_on_the_way = path.starts_with(&name);
            if is_on_the_way && !place.is_file(&file) || place.is_absent && !is_on_the_way {
                replies.to(answer).fail(CHANGING.status, CHANGING.detail);
                return Some(Routed::Answered);
            }
            let led = if is_on_the_way {
                lead_behind(answer, inside, &name, asking, replies)
            } else {
                lead(answer, inside, &name, asking, replies)
            };
            if led.is_some() {
                return led;
            }
        }
        // The page sends the client to the path with a slash.
        Err(Unnamed::Unslashed) => {}
        Err(Unnamed::Absent(why)) if why.status == 404 => return None,
        Err(Unnamed::Absent(why)) => {
            replies.to(answer).fail(why.status, why.detail);
            return Some(Routed::Answered);
        }
    }
    if is_web_socket(request) {
        replies.to(answer).fail(501, NO_WEB_SOCKETS);
        return Some(Routed::Answered);
    }
    Some(Routed::App(number))
}

/// Handles a request for which there is no file, but perhaps a script that answers in the file's place. If a folder
/// keeps everybody from that script, refuses the request; else returns `None`.
fn refuse_scripts(
    answer: &mut Answer,
    inside: Inside<'_>,
    place: &Place,
    request: Request<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    let Inside { site, path, own_bytes, .. } = inside;
    if !place.has_answers() {
        return None;
    }
    let behind = site.routes.of(path).filter(|(_, pattern, _)| pattern.prefix_bytes() == own_bytes);
    let names = behind.flat_map(|(_, _, route)| names_of(route, path, own_bytes));
    let refusal = names.into_iter().find_map(|name| place.refusal(&name[own_bytes..]))?;
    write_folder_answer(&mut replies.to(answer), refusal, request, 0);
    Some(Routed::Answered)
}

/// The error for folders that have changed while a file was looked for: their rules have to be found anew.
struct Changed;

/// Answers with a file, if the other rules around its path allow that; `None` if there is no such file.
fn serve_at(
    answer: &mut Answer,
    inside: Inside<'_>,
    folder: &mut Folder,
    own: Option<Ruled<'_>>,
    looks: u64,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Result<Option<Routed>, Changed> {
    let Inside { site, route, path, own_bytes, .. } = inside;
    let request = asking.request;
    let prefix_bytes = site.raw_bytes(request.path(), own_bytes);
    let place = own.map(|own| own.place);
    let has_indexes = place.is_some_and(|place| place.indexes.is_some());
    let has_programs = place.is_some_and(|place| place.runs.programs().is_some());
    let mut names_others = route.names_others() || has_programs || has_indexes;
    loop {
        let mut reply = replies.to(answer);
        let how = FileWay { own, rest: path.get(own_bytes..).unwrap_or_default(), looks, names_others };
        match serve_in(&mut reply, folder, request, prefix_bytes, how) {
            Served::Sent => return Ok(Some(Routed::Answered)),
            Served::Missed => return Ok(None),
            Served::Changed => return Err(Changed),
            Served::Named(name) => {
                if let Some(refusal) = place.and_then(|place| place.refusal_at_top(&name)) {
                    write_folder_answer(&mut reply, refusal, request, prefix_bytes);
                    return Ok(Some(Routed::Answered));
                }
                let is_run = place.is_some_and(|place| place.runs.is_program(&name));
                let name = [&path[..own_bytes], b"/", &name].concat();
                // A folder may name any file as its index; that file has its own path, with all the rules around it.
                if is_run || has_indexes {
                    return Ok(Some(rewritten(inside, &name, asking)));
                }
                if let Some(routed) = lead(answer, inside, &name, asking, replies) {
                    return Ok(Some(routed));
                }
                // The rules of the folders on the way to this path were applied. An index right beneath it has no other
                // rules; a file elsewhere may have some.
                let is_beside = name.strip_prefix(path).is_some_and(|rest| !rest.contains(&b'/'));
                if place.is_some() && !is_beside {
                    return Ok(Some(rewritten(inside, &name, asking)));
                }
            }
        }
        names_others = false;
    }
}

/// Answers with a file, if the folder has one. Returns whether the folder has one; the first `prefix_bytes` of the path
/// are the route's own.
#[inline]
pub(crate) fn serve_file(
    reply: &mut Reply<'_>,
    folder: &mut Folder,
    request: Request<'_>,
    prefix_bytes: usize,
    looks: u64,
) -> bool {
    let prefix = &request.path()[..prefix_bytes];
    let made = reply.render(|out, asked, identity| {
        folder.answer(
            &FileAsk {
                request,
                prefix,
                asked,
                identity,
                fresh: looks,
                as_stored: false,
                names_others: false,
                indexes: None,
                is_absent: false,
                runs_page: None,
            },
            out,
        )
    });
    reply.take(made)
}

/// The way in which a file is looked for.
struct FileWay<'w> {
    /// The folders beneath the route's, and their rules for the path. Their error pages come before the server's.
    own: Option<Ruled<'w>>,
    /// The path without the route's part, in its one spelling.
    rest: &'w [u8],
    looks: u64,
    /// Whether a file that has another path than the request is not sent, but returned as [`Served::Named`].
    names_others: bool,
}

/// The result of looking for a file.
enum Served {
    /// The answer is written.
    Sent,
    /// The folder lacks the file.
    Missed,
    /// The path names another file, by its path beneath the folder.
    Named(Vec<u8>),
    /// The folders have changed while the answer was made, and nothing is written.
    Changed,
}

/// Answers with a file like [`serve_file`], by the rules of the folders beneath the route's.
fn serve_in(
    reply: &mut Reply<'_>,
    folder: &mut Folder,
    request: Request<'_>,
    prefix_bytes: usize,
    FileWay { own, rest, looks, names_others }: FileWay<'_>,
) -> Served {
    let prefix = &request.path()[..prefix_bytes];
    let mark = reply.written_bytes();
    let place = own.map(|own| own.place);
    let as_stored = place.is_some_and(|place| place.is_as_stored);
    let is_absent = place.is_some_and(|place| place.is_absent);
    let indexes = place.and_then(|place| place.indexes.as_deref());
    let mut is_changed = false;
    let runs_page = |page: &[u8]| own.is_some_and(|own| own.folders.run_page(page));
    let made = reply.render(|out, asked, identity| {
        let ask = FileAsk {
            request,
            prefix,
            asked,
            identity,
            fresh: looks,
            as_stored,
            names_others,
            indexes,
            is_absent,
            runs_page: Some(&runs_page),
        };
        let (start, opened) = (out.len(), folder.opened());
        let made = match place.filter(|place| place.runs.programs().is_some()) {
            Some(place) => folder.answer_unless(|name| place.runs.is_program(name), &ask, out),
            None => folder.answer(&ask, out),
        };
        is_changed = folder.opened() != opened
            && own.is_some_and(|own| !own.folders.says_still(rest, own.place, folder.root()));
        if is_changed {
            out.truncate(start);
        }
        made
    });
    if is_changed {
        folder.forget();
        return Served::Changed;
    }
    let page = made.status().and_then(|status| place?.page_of(status));
    let is_taken = match (page, made) {
        (_, FileAnswer::Named(name)) => return Served::Named(name),
        (Some(page), made) => reply.take_page(&made, mark, page),
        (None, made) => reply.take(made),
    };
    if is_taken { Served::Sent } else { Served::Missed }
}

const FOLDER_CHANGING: &str = "The folder is being changed; try again.";

const NOT_RUN: &str = "Files are not run here.";

//! The store of answers: by address, then by the fields that they depend on; those used least recently go first.
//!
//! The store also knows which answers are being fetched. A client that asks for one of those learns of it
//! ([`Found::Wait`]), and may join those who wait; a client that fetches has a [`Fill`], which ends once
//! ([`Store::end`]), and then all who wait are given back, to look again. If an answer turned out not to be kept, that
//! is remembered for a while ([`Found::Pass`]), so that nobody waits for the next one.
//!
//! | found | it is | the caller |
//! | --- | --- | --- |
//! | `Fresh` | kept, and fresh | answers with it |
//! | `Stale` | kept, stale, and fetched by another | answers with it |
//! | `Fill` | not kept, or stale | fetches it, and ends that |
//! | `Wait` | fetched by another | waits, and looks again |
//! | `Pass` | not one that is kept | fetches it for itself |

use std::collections::HashMap;
use std::sync::Arc;

use adyton_http::Request;
use foldhash::fast::RandomState;
use slab::Slab;

use crate::Terms;

/// Bytes that an answer takes beside its own: places in tables, lists and allocators.
const ENTRY_BYTES: usize = 320;

/// Most forms of one address, each for other values of the fields that it depends on. One more, and the oldest goes:
/// otherwise a client could make each look take as long as it likes.
const FORMS_MAX: usize = 64;

/// How long a fetch is waited for by further clients; after that the next of them fetches, too.
const FETCH_MS_MAX: u64 = 5_000;

/// No place in a list.
const NONE: usize = usize::MAX;

/// An answer that is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The status line, and lines of fields that are the same for all clients, without the empty line.
    pub head: Vec<u8>,
    /// The content.
    pub body: Vec<u8>,
    /// The entity tag; empty for none.
    pub etag: Box<[u8]>,
    /// The time at which it was last modified, in seconds since 1970.
    pub modified_s: Option<u64>,
}

/// An answer that is kept, and how it may be used.
#[derive(Debug)]
pub struct Entry {
    /// The answer.
    pub answer: Answer,
    /// The time at which its age was 0.
    born_ms: u64,
    fresh_ms: u64,
    revalidate_ms: u64,
    error_ms: u64,
}

impl Entry {
    /// How old the answer is.
    #[inline]
    pub fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.born_ms)
    }

    /// How old the answer may become.
    #[inline]
    pub fn fresh_ms(&self) -> u64 {
        self.fresh_ms
    }

    /// Whether the answer may be used where fetching it anew has failed.
    pub fn helps(&self, now_ms: u64) -> bool {
        self.age_ms(now_ms) < self.fresh_ms + self.error_ms
    }

    fn is_fresh(&self, now_ms: u64) -> bool {
        self.age_ms(now_ms) < self.fresh_ms
    }

    fn may_be_shown(&self, now_ms: u64) -> bool {
        self.age_ms(now_ms) < self.fresh_ms + self.revalidate_ms
    }
}

/// Which clients an answer is for, as far as cookies matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// All clients.
    All,
    /// Clients that send no cookie.
    Plain,
    /// Clients that send cookies.
    WithCookies,
}

/// A request's question to the store.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The address, and whatever else an answer always depends on.
    pub key: &'a [u8],
    /// A number that tells apart the forms of an address, whatever the answers say: by their coding, and the like.
    pub form: u64,
    /// The request, whose fields answers may depend on.
    pub request: Request<'a>,
    /// The audience that the asking client belongs to.
    pub audience: Audience,
}

/// Result of a look.
#[derive(Debug)]
pub enum Found {
    /// A fresh answer.
    Fresh(Arc<Entry>),
    /// A stale answer, which another client renews.
    Stale(Arc<Entry>),
    /// No answer that can be used: the caller fetches it. A stale one may be there.
    Fill(Fill, Option<Arc<Entry>>),
    /// An answer that another client fetches.
    Wait(Fill),
    /// No answer, as answers to this are not kept.
    Pass,
}

/// An answer that is being fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The place where the fetch is noted.
    place: Box<[u8]>,
    /// The number of the fetch among all that ever began.
    number: u64,
    /// How many bytes of its place are the address.
    key_bytes: usize,
    form: u64,
    audience: Audience,
    /// The fields of the request, by which its form is known.
    fields: Vec<FieldLine>,
}

/// Name, in lower case, and value.
type FieldLine = (Box<[u8]>, Box<[u8]>);

/// How a fetch has ended.
#[derive(Debug)]
pub enum End {
    /// The fetch ended with an answer that is kept.
    Kept(Answer, Terms),
    /// The fetch ended with an answer that is not kept; others are likely not to be, for so long.
    NotKept {
        /// In ms.
        pass_ms: u64,
    },
    /// The fetch ended without an answer.
    Failed,
}

/// The content of one place.
enum What {
    Kept(Arc<Entry>),
    /// No answer: until this time, answers are not kept.
    Pass(u64),
}

/// One form of an address.
struct Form {
    key: Arc<[u8]>,
    /// The values of the fields that the address depends on.
    values: Box<[u8]>,
    audience: Audience,
    what: What,
    bytes: usize,
    /// Neighbours in the list of all forms, from the one that was used last.
    newer: usize,
    older: usize,
}

/// An address.
#[derive(Default)]
struct Address {
    /// The fields that its answers depend on.
    vary: Vec<Box<[u8]>>,
    forms: Vec<usize>,
}

/// A fetch, and those who wait for it.
struct Fetch<W> {
    /// The number of the [`Fill`] that has begun last.
    number: u64,
    /// The number of the first [`Fill`] whose answer may be kept.
    first: u64,
    /// How many bytes of its place are the address.
    key_bytes: usize,
    since_ms: u64,
    waiting: Vec<W>,
}

/// Answers that are kept, within a number of bytes. `W` identifies whoever waits for one.
pub struct Store<W> {
    addresses: HashMap<Arc<[u8]>, Address, RandomState>,
    forms: Slab<Form>,
    newest: usize,
    oldest: usize,
    bytes: usize,
    bytes_max: usize,
    fetches: HashMap<Box<[u8]>, Fetch<W>, RandomState>,
    /// How many fetches ever began.
    count: u64,
    evictions: u64,
    /// A buffer for the values of the request that looks.
    values: Vec<u8>,
}

impl<W> Store<W> {
    /// A store that takes so many bytes at most, with all that belongs to its answers.
    pub fn new(bytes_max: usize) -> Store<W> {
        Store {
            addresses: HashMap::default(),
            forms: Slab::new(),
            newest: NONE,
            oldest: NONE,
            bytes: 0,
            bytes_max,
            fetches: HashMap::default(),
            count: 0,
            evictions: 0,
            values: Vec::new(),
        }
    }

    /// How many bytes the store takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many answers are kept, with the notes that answers are not.
    pub fn len(&self) -> usize {
        self.forms.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// How many answers were given up for others.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// The longest answer that is kept, head and body together: one shall not push out more than a sixteenth of the
    /// others.
    pub fn answer_bytes_max(&self) -> usize {
        self.bytes_max / 16
    }

    /// Looks for an answer. `may_fill`: the caller would fetch it for others, and wait for one who does; otherwise it
    /// is told to pass where there is none.
    pub fn look(&mut self, ask: &Ask<'_>, now_ms: u64, may_fill: bool) -> Found {
        let Some(address) = self.addresses.get(ask.key) else {
            let values = ask.form.to_le_bytes();
            return if may_fill { self.fetch(ask, &values, None, now_ms) } else { Found::Pass };
        };
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        values.extend_from_slice(&ask.form.to_le_bytes());
        write_values(&address.vary, &mut values, |name, out| {
            ask.request.all_named(name).for_each(|value| write_value(value, out));
        });
        let (mut stale, mut passes) = (None, false);
        for &number in &address.forms {
            let form = &self.forms[number];
            let is_for = form.audience == Audience::All || form.audience == ask.audience;
            if !is_for || *form.values != *values {
                continue;
            }
            match &form.what {
                What::Kept(entry) if entry.is_fresh(now_ms) => {
                    let entry = Arc::clone(entry);
                    self.touch(number);
                    self.values = values;
                    return Found::Fresh(entry);
                }
                What::Kept(entry) => stale = Some((number, Arc::clone(entry))),
                What::Pass(until_ms) => passes |= now_ms < *until_ms,
            }
        }
        let found = if passes || !may_fill { Found::Pass } else { self.fetch(ask, &values, stale, now_ms) };
        self.values = values;
        found
    }

    /// Has the caller fetch an answer, or wait for one who does.
    fn fetch(
        &mut self,
        ask: &Ask<'_>,
        values: &[u8],
        stale: Option<(usize, Arc<Entry>)>,
        now_ms: u64,
    ) -> Found {
        let audience = [match ask.audience {
            Audience::All => 0,
            Audience::Plain => 1,
            Audience::WithCookies => 2,
        }];
        let place = [ask.key, &audience, values].concat().into_boxed_slice();
        let mut fill = Fill {
            place,
            number: self.count,
            key_bytes: ask.key.len(),
            form: ask.form,
            audience: ask.audience,
            fields: Vec::new(),
        };
        let before = self.fetches.get(&fill.place);
        if let Some(fetch) = before.filter(|fetch| now_ms < fetch.since_ms + FETCH_MS_MAX) {
            return match stale {
                Some((number, entry)) if entry.may_be_shown(now_ms) => {
                    self.touch(number);
                    Found::Stale(entry)
                }
                _ => {
                    fill.number = fetch.number;
                    Found::Wait(fill)
                }
            };
        }
        self.count += 1;
        // Clients that wait for a fetch that takes too long wait for this one from now on, and either will do.
        let before = self.fetches.remove(&fill.place);
        let first = before.as_ref().map_or(fill.number, |before| before.first);
        let waiting = before.map_or_else(Vec::new, |before| before.waiting);
        let fetch = Fetch { number: fill.number, first, key_bytes: ask.key.len(), since_ms: now_ms, waiting };
        self.fetches.insert(fill.place.clone(), fetch);
        let fields = ask.request.fields().iter();
        fill.fields = fields
            .map(|field| {
                (ask.request.name(field).to_ascii_lowercase().into(), ask.request.value(field).into())
            })
            .collect();
        Found::Fill(fill, stale.map(|(_, entry)| entry))
    }

    /// Has somebody wait for a fetch; `false` if that has ended.
    pub fn join(&mut self, fill: &Fill, who: W) -> bool {
        let Some(fetch) = self.fetches.get_mut(&fill.place).filter(|fetch| fetch.number == fill.number)
        else {
            return false;
        };
        fetch.waiting.push(who);
        true
    }

    /// Ends a fetch; all who wait for it are given back.
    pub fn end(&mut self, fill: &Fill, end: End, now_ms: u64) -> Vec<W> {
        match end {
            End::Kept(answer, terms) if self.is_valid(fill) => {
                self.keep(fill, answer, terms, now_ms);
                self.fetches.remove(&fill.place).map_or_else(Vec::new, |fetch| fetch.waiting)
            }
            End::NotKept { pass_ms } if self.is_last(fill) => {
                self.put(fill, What::Pass(now_ms + pass_ms), 0, fill.audience);
                self.release(fill)
            }
            End::Kept(..) | End::NotKept { .. } | End::Failed => self.release(fill),
        }
    }

    /// Ends a fetch that has come to nothing; all who wait for it are given back.
    pub fn release(&mut self, fill: &Fill) -> Vec<W> {
        if self.is_last(fill) {
            return self.fetches.remove(&fill.place).map_or_else(Vec::new, |fetch| fetch.waiting);
        }
        Vec::new()
    }

    /// Whether nobody else has begun to fetch the same answer meanwhile.
    fn is_last(&self, fill: &Fill) -> bool {
        self.fetches.get(&fill.place).is_some_and(|fetch| fetch.number == fill.number)
    }

    /// Whether nothing has happened meanwhile that makes the fetched answer an old one.
    fn is_valid(&self, fill: &Fill) -> bool {
        let fetch = self.fetches.get(&fill.place);
        fetch.is_some_and(|fetch| (fetch.first..=fetch.number).contains(&fill.number))
    }

    fn keep(&mut self, fill: &Fill, answer: Answer, terms: Terms, now_ms: u64) {
        let bytes = answer.head.len() + answer.body.len() + answer.etag.len();
        if bytes > self.answer_bytes_max() {
            return;
        }
        let address = self.addresses.get(fill.key());
        let known = address.map_or(&[][..], |address| &address.vary[..]);
        if !terms.vary.iter().all(|name| known.contains(name)) {
            self.depend(fill.key(), terms.vary);
        }
        let audience = if terms.is_guess { Audience::Plain } else { Audience::All };
        let Terms { age_ms, fresh_ms, revalidate_ms, error_ms, .. } = terms;
        let born_ms = now_ms.saturating_sub(age_ms);
        let entry = Entry { answer, born_ms, fresh_ms, revalidate_ms, error_ms };
        self.put(fill, What::Kept(Arc::new(entry)), bytes, audience);
    }

    /// Makes the answers of an address depend on further fields: those that are there say nothing of these, and go.
    fn depend(&mut self, key: &[u8], vary: Vec<Box<[u8]>>) {
        let mut all = self.addresses.get(key).map_or_else(Vec::new, |address| address.vary.clone());
        self.forget(key);
        all.extend(vary);
        all.sort_unstable();
        all.dedup();
        self.addresses.insert(key.into(), Address { vary: all, forms: Vec::new() });
    }

    fn put(&mut self, fill: &Fill, what: What, bytes: usize, audience: Audience) {
        let key = match self.addresses.get_key_value(fill.key()) {
            Some((key, _)) => Arc::clone(key),
            None => fill.key().into(),
        };
        let address = self.addresses.entry(Arc::clone(&key)).or_default();
        let mut values = fill.form.to_le_bytes().to_vec();
        write_values(&address.vary, &mut values, |wanted, out| {
            let of_name = fill.fields.iter().filter(|(name, _)| **name == *wanted);
            of_name.for_each(|(_, value)| write_value(value, out));
        });
        let forms = &self.forms;
        let is_kept = matches!(what, What::Kept(_));
        // An answer takes the place of another, and of a note that there is none; such a note does not drive out an
        // answer that may still be of use.
        let is_replaced = |&number: &usize| {
            let form = &forms[number];
            let is_note = matches!(form.what, What::Pass(_));
            *form.values == *values && (is_note || is_kept && form.audience == audience)
        };
        let mut gone: Vec<usize> = address.forms.iter().copied().filter(is_replaced).collect();
        if address.forms.len() - gone.len() >= FORMS_MAX {
            gone.extend(address.forms.iter().find(|number| !gone.contains(number)));
        }
        let vary_bytes: usize = address.vary.iter().map(|name| name.len() + size_of::<Box<[u8]>>()).sum();
        let bytes = bytes + 2 * key.len() + values.len() + vary_bytes + ENTRY_BYTES;
        let values = values.into_boxed_slice();
        let form = Form { key, values, audience, what, bytes, newer: NONE, older: NONE };
        let number = self.forms.insert(form);
        address.forms.push(number);
        self.bytes += bytes;
        self.link(number);
        for number in gone {
            self.remove(number);
        }
        while self.bytes > self.bytes_max && self.oldest != NONE {
            self.evictions += 1;
            self.remove(self.oldest);
        }
    }

    /// Takes an address for changed: its kept answers are forgotten, and those that are being fetched will not be kept.
    /// All who wait for those are given back.
    pub fn invalidate(&mut self, key: &[u8]) -> Vec<W> {
        self.forget(key);
        let its = self.fetches.iter().filter(|(place, fetch)| place[..fetch.key_bytes] == *key);
        let places: Vec<Box<[u8]>> = its.map(|(place, _)| place.clone()).collect();
        let fetches = places.iter().filter_map(|place| self.fetches.remove(place));
        fetches.flat_map(|fetch| fetch.waiting).collect()
    }

    /// Forgets everything that is kept for an address.
    fn forget(&mut self, key: &[u8]) {
        let forms = self.addresses.get(key).map_or_else(Vec::new, |address| address.forms.clone());
        for number in forms {
            self.remove(number);
        }
        self.addresses.remove(key);
    }

    /// Forgets everything that is kept. Fetches go on.
    pub fn clear(&mut self) {
        self.addresses.clear();
        self.forms.clear();
        (self.newest, self.oldest, self.bytes) = (NONE, NONE, 0);
    }

    fn remove(&mut self, number: usize) {
        self.unlink(number);
        let form = self.forms.remove(number);
        self.bytes -= form.bytes;
        if let Some(address) = self.addresses.get_mut(&form.key) {
            address.forms.retain(|&other| other != number);
            if address.forms.is_empty() {
                self.addresses.remove(&form.key);
            }
        }
    }

    #[inline]
    fn touch(&mut self, number: usize) {
        if self.newest != number {
            self.unlink(number);
            self.link(number);
        }
    }

    fn link(&mut self, number: usize) {
        let before = std::mem::replace(&mut self.newest, number);
        let form = &mut self.forms[number];
        (form.newer, form.older) = (NONE, before);
        match self.forms.get_mut(before) {
            Some(form) => form.newer = number,
            None => self.oldest = number,
        }
    }

    fn unlink(&mut self, number: usize) {
        let Form { newer, older, .. } = self.forms[number];
        match self.forms.get_mut(newer) {
            Some(form) => form.older = older,
            None => self.newest = older,
        }
        match self.forms.get_mut(older) {
            Some(form) => form.newer = newer,
            None => self.oldest = newer,
        }
    }
}

impl Fill {
    /// The question of a request that waits for this fetch.
    pub fn ask<'a>(&'a self, request: Request<'a>) -> Ask<'a> {
        Ask { key: self.key(), form: self.form, request, audience: self.audience }
    }

    /// Whether the request has a cookie that may matter.
    pub fn has_cookie(&self) -> bool {
        self.audience == Audience::WithCookies
    }

    fn key(&self) -> &[u8] {
        &self.place[..self.key_bytes]
    }
}

/// Writes the values of these fields; `write` writes those of one name. No value has the bytes that stand between them.
fn write_values(vary: &[Box<[u8]>], out: &mut Vec<u8>, write: impl Fn(&[u8], &mut Vec<u8>)) {
    for name in vary {
        write(name, out);
        out.push(b'\r');
    }
}

fn write_value(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(value);
    out.push(b'\n');
}

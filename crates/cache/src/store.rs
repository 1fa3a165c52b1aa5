//! The store of answers: by address, then by the request fields on which they depend.
//!
//! The least recently used answers are evicted first.
//!
//! The store also knows which answers are being fetched. A client that asks for such an answer is told to wait
//! ([`Found::Wait`]) and may join the waiting clients. A client that fetches an answer has a [`Fill`] and must end it
//! ([`Store::end`]), which gives back all waiting clients, so that they look again. If it turns out that the answer
//! cannot be kept, the store remembers that for a while ([`Found::Pass`]), so that no client waits for such an answer.
//!
//! | found | the answer is | the caller |
//! | --- | --- | --- |
//! | `Fresh` | kept, and fresh | answers with it |
//! | `Stale` | kept, stale, and fetched by another client | answers with it |
//! | `Fill` | not kept, or stale | fetches it, and ends the fetch |
//! | `Wait` | fetched by another client | waits, and looks again |
//! | `Pass` | known not to be kept | fetches it for itself alone |

use std::collections::HashMap;
use std::sync::Arc;

use adyton_http::Request;
use foldhash::fast::RandomState;
use slab::Slab;

use crate::Terms;

/// Bytes that an answer takes besides its own: places in tables, lists and allocators.
const ENTRY_BYTES: usize = 320;

/// The most forms of one address, each for other values of the fields on which its answers depend. When there are more,
/// the oldest form is removed: otherwise a client could make each look take ever longer.
const FORMS_MAX: usize = 64;

/// How long further clients wait for a fetch; after that time, the next client fetches the answer, too.
const FETCH_MS_MAX: u64 = 5_000;

/// The number that marks the absence of a place in a list.
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
    /// The entity tag; empty if there is none.
    pub etag: Box<[u8]>,
    /// The time of last modification, in seconds since 1970.
    pub modified_s: Option<u64>,
}

/// An answer that is kept, and how it may be used.
#[derive(Debug)]
pub struct Entry {
    /// The answer.
    pub answer: Answer,
    /// The time at which the age of the answer was 0.
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

    /// The age until which the answer is fresh.
    #[inline]
    pub fn fresh_ms(&self) -> u64 {
        self.fresh_ms
    }

    /// Whether the answer may be used if fetching it anew has failed.
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

/// The clients that an answer is for, with regard to cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// All clients.
    All,
    /// Clients that send no cookie.
    Plain,
    /// Clients that send cookies.
    WithCookies,
}

/// A request's question to the store, with everything that decides which answer it gets.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The address, and everything else on which all answers depend.
    pub key: &'a [u8],
    /// A number that distinguishes forms of an address even if the answers do not say so, for example by their coding.
    pub form: u64,
    /// The request, whose fields answers may depend on.
    pub request: Request<'a>,
    /// The audience that the asking client belongs to.
    pub audience: Audience,
}

/// The result of [`Store::look`].
#[derive(Debug)]
pub enum Found {
    /// A fresh answer.
    Fresh(Arc<Entry>),
    /// A stale answer, which another client is fetching anew.
    Stale(Arc<Entry>),
    /// No answer that can be used, so the caller must fetch it. The second value is a stale answer, if there is one.
    Fill(Fill, Option<Arc<Entry>>),
    /// No answer yet: another client is fetching it.
    Wait(Fill),
    /// No answer: answers to such requests are not kept.
    Pass,
}

/// A fetch of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The key under which the fetch is noted.
    place: Box<[u8]>,
    /// The number of the fetch, counted over all fetches of the store.
    number: u64,
    /// The length of the address in `place`, which begins with it.
    key_bytes: usize,
    form: u64,
    audience: Audience,
    /// The fields of the request, which decide in which form the answer is kept.
    fields: Vec<FieldLine>,
}

/// The name of a field, in lower case, and its value.
type FieldLine = (Box<[u8]>, Box<[u8]>);

/// How a fetch has ended.
#[derive(Debug)]
pub enum End {
    /// The fetch brought an answer that is kept.
    Kept(Answer, Terms),
    /// The fetch brought an answer that is not kept. For the time given, other answers are assumed not to be kept
    /// either.
    NotKept {
        /// The time in milliseconds.
        pass_ms: u64,
    },
    /// The fetch ended without an answer.
    Failed,
}

/// The content of one form: an answer, or a note that there is none.
enum What {
    Kept(Arc<Entry>),
    /// A note that answers are not kept, and the time until which it holds.
    Pass(u64),
}

/// One form of an address, for certain values of the request's fields.
struct Form {
    key: Arc<[u8]>,
    /// The values of the fields on which the answers of the address depend.
    values: Box<[u8]>,
    audience: Audience,
    what: What,
    bytes: usize,
    /// Neighbours in the list of all forms, which is ordered from the most recently used one.
    newer: usize,
    older: usize,
}

/// An address, with the forms in which its answers are kept.
#[derive(Default)]
struct Address {
    /// The request fields on which the answers depend.
    vary: Vec<Box<[u8]>>,
    forms: Vec<usize>,
}

/// A fetch, and the clients that wait for it.
struct Fetch<W> {
    /// The number of the [`Fill`] that began last.
    number: u64,
    /// The number of the earliest [`Fill`] whose answer may still be kept.
    first: u64,
    /// The length of the address in the fetch's key, which begins with it.
    key_bytes: usize,
    since_ms: u64,
    waiting: Vec<W>,
}

/// A store of answers, limited to a number of bytes. `W` identifies a client that waits for an answer.
pub struct Store<W> {
    addresses: HashMap<Arc<[u8]>, Address, RandomState>,
    forms: Slab<Form>,
    newest: usize,
    oldest: usize,
    bytes: usize,
    bytes_max: usize,
    fetches: HashMap<Box<[u8]>, Fetch<W>, RandomState>,
    /// Number of fetches that ever began.
    count: u64,
    evictions: u64,
    /// A buffer for the field values of the request that looks for an answer.
    values: Vec<u8>,
}

impl<W> Store<W> {
    /// Makes a store that takes at most `bytes_max` bytes, with everything that belongs to its answers.
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

    /// Number of bytes that the store takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of kept answers and of notes that answers are not kept.
    pub fn len(&self) -> usize {
        self.forms.len()
    }

    /// Whether the store holds neither an answer nor a note.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Number of answers that were evicted for others.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// The longest answer that is kept, head and body together: a sixteenth of the store, so that one answer cannot
    /// evict more than this part.
    pub fn answer_bytes_max(&self) -> usize {
        self.bytes_max / 16
    }

    /// Looks for an answer. `may_fill` tells whether the caller, if there is no fresh answer, will fetch it for other
    /// clients, or wait for another client's fetch. If not, the result in this case is [`Found::Pass`].
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

    /// Makes the caller fetch an answer, or wait for the client that already fetches it.
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
        // If the earlier fetch takes too long, its waiting clients wait for this fetch, too, from now on; the answer of
        // either is good.
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

    /// Adds a client to the clients that wait for a fetch; `false` if the fetch has already ended.
    pub fn join(&mut self, fill: &Fill, who: W) -> bool {
        let Some(fetch) = self.fetches.get_mut(&fill.place).filter(|fetch| fetch.number == fill.number)
        else {
            return false;
        };
        fetch.waiting.push(who);
        true
    }

    /// Ends a fetch; returns all clients that wait for it.
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

    /// Ends a fetch without a result; returns all clients that wait for it.
    pub fn release(&mut self, fill: &Fill) -> Vec<W> {
        if self.is_last(fill) {
            return self.fetches.remove(&fill.place).map_or_else(Vec::new, |fetch| fetch.waiting);
        }
        Vec::new()
    }

    /// Whether no other client has begun to fetch the same answer meanwhile.
    fn is_last(&self, fill: &Fill) -> bool {
        self.fetches.get(&fill.place).is_some_and(|fetch| fetch.number == fill.number)
    }

    /// Whether the fetched answer is still current: nothing that would make it outdated has happened meanwhile.
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

    /// Makes the answers of an address depend on further fields. The kept answers are forgotten, because the values of
    /// these fields are not known for them.
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
        // A new answer replaces an earlier one, and a note that answers are not kept. Such a note does not replace an
        // answer, which may still be of use.
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

    /// Notes that the content at an address has changed: its kept answers are forgotten, and answers that are being
    /// fetched will not be kept. Returns all clients that wait for these fetches.
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

    /// Forgets everything that is kept. Fetches continue.
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
    /// The question to ask again for a request that has waited for this fetch.
    pub fn ask<'a>(&'a self, request: Request<'a>) -> Ask<'a> {
        Ask { key: self.key(), form: self.form, request, audience: self.audience }
    }

    /// Whether the request has a cookie that may affect the answer.
    pub fn has_cookie(&self) -> bool {
        self.audience == Audience::WithCookies
    }

    fn key(&self) -> &[u8] {
        &self.place[..self.key_bytes]
    }
}

/// Writes the values of these fields; `write` writes the values of one name. No value holds the bytes that separate
/// them.
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

//! Where answers are kept: by address, then by the fields that they depend on; those used least recently go first.
//!
//! The store also knows which answers are being fetched. Whoever asks for one of those learns of it ([`Found::Wait`]), and
//! may join those who wait; whoever fetches has a [`Fill`], which ends once ([`Store::end`]), and then all who wait are
//! given back, to look again. Where an answer turned out not to be one that is kept, that is remembered for a while
//! ([`Found::Pass`]), so that nobody waits for the next one.
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

/// Forms of one address, each for other values of the fields that it depends on. One more, and the oldest goes: else a
/// client could make each look for it as long as it likes.
const FORMS_MAX: usize = 64;

/// Whoever fetches for longer is not waited for any more by those who come, the next of whom fetches, too.
const FETCH_MS_MAX: u64 = 5_000;

/// No place in a list.
const NONE: usize = usize::MAX;

/// An answer, as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its status line and lines of fields that are the same for all clients, without the empty line.
    pub head: Vec<u8>,
    /// Its content.
    pub body: Vec<u8>,
    /// Its entity tag; empty for none.
    pub etag: Box<[u8]>,
    /// When it was last modified, in seconds since 1970.
    pub modified_s: Option<u64>,
}

/// An answer that is kept, and how it may be used.
#[derive(Debug)]
pub struct Entry {
    /// The answer.
    pub answer: Answer,
    /// When its age was none.
    born_ms: u64,
    fresh_ms: u64,
    revalidate_ms: u64,
    error_ms: u64,
}

impl Entry {
    /// How old it is.
    #[inline]
    pub fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.born_ms)
    }

    /// How old it may become.
    #[inline]
    pub fn fresh_ms(&self) -> u64 {
        self.fresh_ms
    }

    /// Whether it may be used where to fetch it anew has failed.
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

/// What is asked for.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The address, and whatever else an answer always depends on.
    pub key: &'a [u8],
    /// What else tells apart the forms of an address, whatever they say: their coding, and the like.
    pub form: u64,
    /// The request, whose fields answers may depend on.
    pub request: Request<'a>,
    /// Who asks.
    pub audience: Audience,
}

/// What has come of a look.
#[derive(Debug)]
pub enum Found {
    /// A fresh answer.
    Fresh(Arc<Entry>),
    /// A stale one, which another renews.
    Stale(Arc<Entry>),
    /// Nothing that can be used: the caller fetches it. A stale answer may be there.
    Fill(Fill, Option<Arc<Entry>>),
    /// Another fetches it.
    Wait(Fill),
    /// Answers to this are not kept.
    Pass,
}

/// An answer that is being fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Where it is noted.
    place: Box<[u8]>,
    /// Which of those that were ever fetched.
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
    /// With an answer that is kept.
    Kept(Answer, Terms),
    /// With one that is not; others are likely not to be, for so long.
    NotKept {
        /// In ms.
        pass_ms: u64,
    },
    /// Without an answer.
    Failed,
}

/// What is at one place.
enum What {
    Kept(Arc<Entry>),
    /// Answers are not kept, until then.
    Pass(u64),
}

/// One form of an address.
struct Form {
    key: Arc<[u8]>,
    /// The values that it is for, of the fields that the address depends on.
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

/// Who fetches something, and who waits for that.
struct Fetch<W> {
    /// Who has begun last.
    number: u64,
    /// Who has begun first of those whose answers may be kept.
    first: u64,
    /// How many bytes of its place are the address.
    key_bytes: usize,
    since_ms: u64,
    waiting: Vec<W>,
}

/// Answers that are kept, within a number of bytes. `W` is whoever waits for one.
pub struct Store<W> {
    addresses: HashMap<Arc<[u8]>, Address, RandomState>,
    forms: Slab<Form>,
    newest: usize,
    oldest: usize,
    bytes: usize,
    bytes_max: usize,
    fetches: HashMap<Box<[u8]>, Fetch<W>, RandomState>,
    /// How many were ever fetched.
    count: u64,
    evictions: u64,
    /// The values of what is looked for: a buffer.
    values: Vec<u8>,
}

impl<W> Store<W> {
    /// One that takes so many bytes at most, with all that belongs to them.
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

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many answers are kept, and how many it is remembered of that they are not.
    pub fn len(&self) -> usize {
        self.forms.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// How many were given up for others.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// The longest answer that is kept, head and body together: one shall not push out more than a sixteenth of the others.
    pub fn answer_bytes_max(&self) -> usize {
        self.bytes_max / 16
    }

    /// Looks for an answer. `may_fill`: the caller would fetch it for others, and wait for one who does; else it is told to
    /// pass where there is none.
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
        // Those who wait for one that takes too long wait for this one from now on, and either will do.
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

    /// A fetch has ended; all who wait for it are given back.
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

    /// A fetch has come to nothing; all who wait for it are given back.
    pub fn release(&mut self, fill: &Fill) -> Vec<W> {
        if self.is_last(fill) {
            return self.fetches.remove(&fill.place).map_or_else(Vec::new, |fetch| fetch.waiting);
        }
        Vec::new()
    }

    /// Whether nobody else has begun to fetch the same meanwhile.
    fn is_last(&self, fill: &Fill) -> bool {
        self.fetches.get(&fill.place).is_some_and(|fetch| fetch.number == fill.number)
    }

    /// Whether nothing has happened meanwhile that makes its answer an old one.
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

    /// The answers of an address depend on further fields: those that are there say nothing of these, and go.
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
        // An answer takes the place of another, and of a note that there is none; such a note does not drive out what may
        // be of use still.
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

    /// An address has been changed: what is kept for it is forgotten, and what is being fetched will not be kept. All who
    /// wait for that are given back.
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

    /// Forgets everything that is kept. What is being fetched still is.
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
    /// What is asked for by a request that waits for it.
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

/// Writes the values of these fields; `write` writes those of one name. No value has the bytes that are between them.
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

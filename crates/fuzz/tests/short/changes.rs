//! Inputs made of other inputs, as libFuzzer makes them, but without looking at the code that they reach.

use std::borrow::Cow;

/// Length of the longest input in bytes.
const BYTES_MAX: usize = 4096;

/// Bytes that mean something to a parser.
const MEANT: &[u8] = b"\r\n\t \0\"'()*,-./019:;<=>?[\\]{}%&#@AZaz_~\x7f\x80\xff";

/// Makes inputs, always the same ones from the same corpus.
pub(crate) struct Changes<'c> {
    corpus: &'c [Vec<u8>],
    words: &'c [Vec<u8>],
    input: Vec<u8>,
    random: Random,
}

impl<'c> Changes<'c> {
    /// Starts to make inputs for the target of this name, from its corpus and from words.
    pub(crate) fn new(name: &str, corpus: &'c [Vec<u8>], words: &'c [Vec<u8>]) -> Self {
        let seed = name.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        Changes { corpus, words, input: Vec::new(), random: Random(seed) }
    }

    /// Makes an input from one of the corpus.
    pub(crate) fn begin(&mut self) -> &[u8] {
        self.input.clone_from(self.random.one_of(self.corpus));
        self.go_on()
    }

    /// Makes an input from the previous input.
    pub(crate) fn go_on(&mut self) -> &[u8] {
        for _ in 0..=self.random.below(3) {
            self.change();
        }
        self.input.truncate(BYTES_MAX);
        &self.input
    }

    /// Replaces a range of bytes, which may be empty, by other bytes.
    fn change(&mut self) {
        let Changes { corpus, words, input, random } = self;
        let from = random.below(input.len() + 1);
        let to = from + random.below((input.len() - from).min(32) + 1);
        let one = to.min(from + 1);
        let (range, bytes) = match random.below(10) {
            0 | 1 => (from..one, Cow::from(vec![*random.one_of(MEANT)])),
            2 => (from..one, input[from..one].iter().map(|byte| byte ^ (1 << random.below(8))).collect()),
            3 => (from..from, random.next().to_le_bytes()[..1].to_vec().into()),
            4 => (from..to, Cow::default()),
            5 => (to..to, input[from..to].repeat(1 << random.below(6)).into()),
            6 => {
                let other = random.one_of(corpus);
                (from..input.len(), other[random.below(other.len() + 1)..].into())
            }
            7 => (from..to, (random.next() >> random.below(64)).to_string().into_bytes().into()),
            8 => (from..to, random.one_of(words).into()),
            _ => (from..from, random.one_of(words).into()),
        };
        input.splice(range, bytes.iter().copied());
    }
}

/// `SplitMix64` (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which is above 0.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or_default()
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

//! Questions to all workers, until all have answered or have had the time to.

use std::sync::mpsc::Sender;

use serde_json::{Value, json};

use crate::question::AdminAnswer;

/// How long workers may take to answer a question.
const ANSWER_MS: u64 = 3_000;

/// A question to all workers.
struct Round {
    number: u64,
    due_ms: u64,
    /// Slots and processes.
    waiting: Vec<(usize, u32)>,
    answers: Vec<Value>,
    reply: Sender<AdminAnswer>,
}

/// Those that are open.
#[derive(Default)]
pub(crate) struct Rounds {
    last: u64,
    open: Vec<Round>,
}

impl Rounds {
    /// The number of a new one.
    pub(crate) fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// These workers, slots and processes, have been asked.
    pub(crate) fn begin(
        &mut self,
        number: u64,
        waiting: Vec<(usize, u32)>,
        reply: Sender<AdminAnswer>,
        now_ms: u64,
    ) {
        self.open.push(Round { number, due_ms: now_ms + ANSWER_MS, waiting, answers: Vec::new(), reply });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// A worker has answered.
    pub(crate) fn note(&mut self, number: u64, (slot, pid): (usize, u32), value: &Value) {
        if let Some(round) = self.open.iter_mut().find(|round| round.number == number) {
            round.waiting.retain(|&(_, other)| other != pid);
            round.answers.push(json!({"worker": slot, "pid": pid, "answer": value}));
        }
    }

    /// A worker is gone: it is not waited for.
    pub(crate) fn forget(&mut self, pid: u32) {
        for round in &mut self.open {
            round.waiting.retain(|&(_, other)| other != pid);
        }
    }

    /// Answers those to which all have said something, or have had the time to.
    pub(crate) fn end(&mut self, now_ms: u64) {
        for round in self.open.extract_if(.., |round| round.waiting.is_empty() || round.due_ms <= now_ms) {
            let silent =
                round.waiting.iter().map(|(slot, pid)| json!({"worker": slot, "pid": pid, "answer": null}));
            let mut answers = round.answers;
            answers.extend(silent);
            answers.sort_by_key(|answer| answer["worker"].as_u64());
            // The client may have gone.
            let _ = round.reply.send((200, Value::Array(answers)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use serde_json::json;

    use super::{ANSWER_MS, Rounds};

    /// A round ends when all have answered or are gone, or when its time is over; answers are in the order of slots.
    #[test]
    fn ends() {
        let (one, two) =
            (json!({"worker": 1, "pid": 7, "answer": "a"}), json!({"worker": 2, "pid": 8, "answer": "b"}));
        let silent = json!({"worker": 2, "pid": 8, "answer": null});
        // Which workers answer, which are gone, how much later it is looked at, and what is answered then.
        let table = [
            (vec![8, 7], vec![], 0, Some(json!([one, two]))),
            (vec![7], vec![], ANSWER_MS - 1, None),
            (vec![7], vec![], ANSWER_MS, Some(json!([one, silent]))),
            (vec![7], vec![8], 0, Some(json!([one]))),
            (vec![], vec![7, 8], 0, Some(json!([]))),
        ];
        for (answering, gone, later_ms, expected) in table {
            let (reply, answer) = channel();
            let mut rounds = Rounds::default();
            let number = rounds.number();
            rounds.begin(number, vec![(1, 7), (2, 8)], reply, 100);
            for pid in answering {
                let (slot, text) = if pid == 7 { (1, "a") } else { (2, "b") };
                rounds.note(number + 1, (slot, pid), &json!("to another question"));
                rounds.note(number, (slot, pid), &json!(text));
            }
            for pid in gone {
                rounds.forget(pid);
            }
            rounds.end(100 + later_ms);

            assert_eq!(expected.is_none(), !rounds.is_empty());
            assert_eq!(expected, answer.try_recv().ok().map(|(_, value)| value));
        }
    }
}

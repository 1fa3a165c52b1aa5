//! The order to start a program, as bytes.

use std::ffi::CString;

/// A program that is to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The program's absolute path.
    pub path: Vec<u8>,
    /// Whether the program's file may be a symbolic link.
    pub may_be_link: bool,
    /// Its arguments, of which the first is its own name.
    pub arguments: Vec<Vec<u8>>,
    /// Its whole environment, each variable as `NAME=value` with a NUL behind it.
    pub environment: Vec<u8>,
    /// The folder that it begins in.
    pub folder: Vec<u8>,
    /// The most memory that each of its processes may have, in bytes; 0 is no limit.
    pub memory_bytes_max: u64,
    /// The number of processes of its user at which the program can start no more (`RLIMIT_NPROC`); 0 is no limit.
    pub user_processes_max: u64,
}

/// An [`Order`], as the kernel takes it.
pub(crate) struct Read {
    pub(crate) path: CString,
    pub(crate) may_be_link: bool,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) folder: CString,
    pub(crate) memory_bytes_max: u64,
    pub(crate) user_processes_max: u64,
}

impl Order {
    /// Writes three numbers, then four parts. Each part begins with its length, and every text in it ends with a NUL.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let ended = |text: &[u8]| [text, &[0]].concat();
        let arguments: Vec<u8> = self.arguments.iter().flat_map(|word| ended(word)).collect();
        let parts = [&ended(&self.path), &arguments, &self.environment, &ended(&self.folder)];
        let mut bytes = [self.memory_bytes_max, self.user_processes_max, self.may_be_link.into()]
            .map(u64::to_le_bytes)
            .concat();
        for part in parts {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }
}

impl Read {
    /// Reads an order; `None` if these bytes are not an order.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Read> {
        let (memory, rest) = bytes.split_first_chunk()?;
        let (processes, rest) = rest.split_first_chunk()?;
        let (may_be_link, mut rest) = rest.split_first_chunk()?;
        let mut next = || -> Option<Vec<CString>> {
            let (length, behind) = rest.split_first_chunk()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (part, behind) = behind.split_at_checked(length)?;
            rest = behind;
            let texts = part.split_inclusive(|&byte| byte == 0);
            texts.map(|text| CString::from_vec_with_nul(text.to_vec()).ok()).collect()
        };
        let (path, arguments, environment, folder) = (next()?, next()?, next()?, next()?);
        let one = |mut texts: Vec<CString>| if texts.len() == 1 { texts.pop() } else { None };
        Some(Read {
            path: one(path)?,
            may_be_link: u64::from_le_bytes(*may_be_link) != 0,
            arguments,
            environment,
            folder: one(folder)?,
            memory_bytes_max: u64::from_le_bytes(*memory),
            user_processes_max: u64::from_le_bytes(*processes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Read};

    #[test]
    fn there_and_back() {
        let order = Order {
            path: b"/a/b".to_vec(),
            may_be_link: true,
            arguments: vec![b"b".to_vec(), Vec::new(), b"x y".to_vec()],
            environment: b"A=1\0B=\0".to_vec(),
            folder: b"/a".to_vec(),
            memory_bytes_max: 7,
            user_processes_max: 8,
        };
        let bytes = order.encode();
        let read = Read::decode(&bytes).map(|read| {
            let texts = [vec![read.path], read.arguments, read.environment, vec![read.folder]].concat();
            (texts, read.may_be_link, read.memory_bytes_max, read.user_processes_max)
        });
        let expected = [c"/a/b", c"b", c"", c"x y", c"A=1", c"B=", c"/a"].map(ToOwned::to_owned);

        assert_eq!(Some((expected.to_vec(), true, 7, 8)), read);
        assert!((0..bytes.len()).all(|cut| Read::decode(&bytes[..cut]).is_none()));
    }

    #[test]
    fn what_is_no_order() {
        let text_without_end = Order { environment: b"A=1".to_vec(), ..Order::default() };
        let two_paths = Order { path: b"a\0b".to_vec(), ..Order::default() };

        assert!(Read::decode(&text_without_end.encode()).is_none());
        assert!(Read::decode(&two_paths.encode()).is_none());
    }
}

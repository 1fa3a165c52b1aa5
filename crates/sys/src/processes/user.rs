//! Looks up users and groups in the system's databases, and makes a process run as one of them for good.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Gid, Uid};

/// The user and group that a process runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user's name, by which its supplementary groups are found; `None` for a number without an entry in the
    /// database.
    name: Option<CString>,
    user: libc::uid_t,
    group: libc::gid_t,
}

/// Room for the database entry of one user or group: its names, and the members of a group.
const BUFFER_BYTES: usize = 64 << 10;

/// The most groups that a user may have (`NGROUPS_MAX`, limits.h).
const GROUPS_MAX: usize = 65_536;

impl Identity {
    /// Finds the user with this name or number, and the group with this name or number. Without a `group`, takes the
    /// user's own group.
    ///
    /// # Errors
    ///
    /// The error is the second half of a sentence: the user or group does not exist, or the user is a number without an
    /// entry and no group is given.
    pub fn find(user: &str, group: Option<&str>) -> Result<Self, String> {
        let found = find_user(user)?;
        let (name, user_number, own_group) = match (found, user.parse()) {
            (Some((name, number, group)), _) => (Some(name), number, Some(group)),
            (None, Ok(number)) => (None, number, None),
            (None, Err(_)) => return Err(format!("there is no user {user}")),
        };
        let group = match group {
            Some(group) => find_group(group)?,
            None => own_group
                .ok_or_else(|| format!("the user {user} has no entry, and so no group: give one, too"))?,
        };
        Ok(Self { name, user: user_number, group })
    }

    /// The number of the user.
    pub fn user(&self) -> u32 {
        self.user
    }

    /// The number of the user's first group.
    pub fn group(&self) -> u32 {
        self.group
    }

    /// Makes the user the owner of a file, but only if it is a regular file of root's with a single name: a user who
    /// may write in the folder of the file could have put another file there.
    ///
    /// # Errors
    ///
    /// Errors of fstat(2) and fchown(2); only root may change the owner.
    pub fn own(&self, file: &std::fs::File) -> io::Result<()> {
        let found = file.metadata()?;
        if found.is_file() && found.nlink() == 1 && found.uid() == 0 {
            std::os::unix::fs::fchown(file, Some(self.user), Some(self.group))?;
        }
        Ok(())
    }

    /// Makes this process run as the user, with only the user's supplementary groups, and makes sure that it cannot
    /// become root again. A process that already runs as the user keeps its groups.
    ///
    /// # Errors
    ///
    /// The kernel refuses, or the process could become root again: then it must not go on.
    pub fn become_for_good(&self) -> io::Result<()> {
        if !self.is_all_of_this_process()? {
            self.take_over()?;
            if !self.is_all_of_this_process()? {
                return Err(io::Error::other("the kernel has not done what it said"));
            }
        }
        if self.user != 0 && can_be_root() {
            return Err(io::Error::other("this process could become root again"));
        }
        Ok(())
    }

    /// Runs `act` on a new thread as this user, with the user's groups and without root's rights, to check what the
    /// user may do. All other threads keep their user: to the kernel, users belong to threads (credentials(7)).
    ///
    /// # Errors
    ///
    /// This process may not become the user, or may not start another thread.
    pub fn try_out<T: Send>(&self, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        if self.is_all_of_this_process()? {
            return Ok(act());
        }
        let groups = self.groups()?;
        let tried = || -> io::Result<T> {
            self.be_of_thread(&groups)?;
            Ok(act())
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("adyton-look".into()).spawn_scoped(scope, tried)?;
            thread.join().map_err(|_| io::Error::other("the look has failed"))?
        })
    }

    /// Makes this thread alone run as the user.
    fn be_of_thread(&self, groups: &[libc::gid_t]) -> io::Result<()> {
        let (user, group) = (Uid::from_raw(self.user), Gid::from_raw(self.group));
        let groups: Vec<Gid> = groups.iter().map(|&group| Gid::from_raw(group)).collect();
        rustix::thread::set_thread_groups(&groups)?;
        rustix::thread::set_thread_res_gid(group, group, group)?;
        Ok(rustix::thread::set_thread_res_uid(user, user, user)?)
    }

    /// Makes a `Taker`, with which a child process becomes the user between fork and exec. Nothing may be looked up
    /// there, so the user's groups are looked up now.
    ///
    /// # Errors
    ///
    /// The user's groups cannot be looked up.
    pub(crate) fn taker(&self) -> io::Result<Taker> {
        let is_this_process = self.is_all_of_this_process()?;
        let mut groups = self.groups()?;
        if self.name.is_none() {
            groups.clear();
        }
        Ok(Taker { user: self.user, group: self.group, groups, is_this_process })
    }

    fn take_over(&self) -> io::Result<()> {
        match &self.name {
            // SAFETY: the name ends in NUL and lives during the call.
            Some(name) => check(unsafe { libc::initgroups(name.as_ptr(), self.group) })?,
            // SAFETY: the list is empty, so nothing is read from it.
            None => check(unsafe { libc::setgroups(0, std::ptr::null()) })?,
        }
        // SAFETY: takes numbers only.
        check(unsafe { libc::setresgid(self.group, self.group, self.group) })?;
        // SAFETY: takes numbers only.
        check(unsafe { libc::setresuid(self.user, self.user, self.user) })
    }

    /// Whether this process runs as the user in every respect: its real, effective and saved numbers are the user's,
    /// and it has no groups except the user's own.
    fn is_all_of_this_process(&self) -> io::Result<bool> {
        let ([mut user, mut user_now, mut user_saved], [mut group, mut group_now, mut group_saved]) =
            ([0; 3], [0; 3]);
        // SAFETY: the call writes three numbers to three variables.
        check(unsafe { libc::getresuid(&raw mut user, &raw mut user_now, &raw mut user_saved) })?;
        // SAFETY: as above.
        check(unsafe { libc::getresgid(&raw mut group, &raw mut group_now, &raw mut group_saved) })?;
        let own = self.groups()?;
        let kept = rustix::process::getgroups()?;
        Ok([user, user_now, user_saved] == [self.user; 3]
            && [group, group_now, group_saved] == [self.group; 3]
            && kept.iter().all(|kept| own.contains(&kept.as_raw())))
    }

    /// The user's supplementary groups.
    fn groups(&self) -> io::Result<Vec<libc::gid_t>> {
        let Some(name) = &self.name else { return Ok(Vec::new()) };
        let mut groups = vec![0; GROUPS_MAX];
        let mut count = libc::c_int::try_from(GROUPS_MAX).map_err(io::Error::other)?;
        // SAFETY: the name ends in NUL, and `groups` has room for `count` groups.
        let found =
            unsafe { libc::getgrouplist(name.as_ptr(), self.group, groups.as_mut_ptr(), &raw mut count) };
        let found = usize::try_from(found).map_err(|_| io::Error::other("the user has too many groups"))?;
        groups.truncate(found);
        Ok(groups)
    }
}

/// Becomes a user for good, with system calls alone.
pub(crate) struct Taker {
    user: libc::uid_t,
    group: libc::gid_t,
    groups: Vec<libc::gid_t>,
    is_this_process: bool,
}

impl Taker {
    /// Becomes the user.
    ///
    /// # Errors
    ///
    /// The kernel refuses, or the process could become root again.
    pub(crate) fn take_over(&mut self) -> io::Result<()> {
        if !self.is_this_process {
            // SAFETY: the list has as many groups as the length says, and lives during the call.
            check(unsafe { libc::setgroups(self.groups.len(), self.groups.as_ptr()) })?;
            // SAFETY: takes numbers only.
            check(unsafe { libc::setresgid(self.group, self.group, self.group) })?;
            // SAFETY: takes numbers only.
            check(unsafe { libc::setresuid(self.user, self.user, self.user) })?;
        }
        if self.user != 0 && can_be_root() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }
}

/// Whether this process can become root again. Each of these calls must fail; otherwise the process must not go on.
fn can_be_root() -> bool {
    // SAFETY: takes a number only.
    let by_real = unsafe { libc::setuid(0) };
    // SAFETY: as above.
    let by_effective = unsafe { libc::seteuid(0) };
    // SAFETY: as above; -1 leaves the real and the effective number as they are.
    let by_saved = unsafe { libc::setresuid(libc::uid_t::MAX, libc::uid_t::MAX, 0) };
    [by_real, by_effective, by_saved].contains(&0)
}

fn check(status: libc::c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Keeps this process and its children from gaining rights through set-user-ID programs (`PR_SET_NO_NEW_PRIVS`,
/// prctl(2)).
///
/// # Errors
///
/// None on any kernel since 3.5.
pub fn gain_no_rights() -> io::Result<()> {
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Sets the umask of this process from now on (umask(2)).
pub fn set_umask(bits: u32) {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(bits));
}

type Found = (CString, libc::uid_t, libc::gid_t);

fn find_user(user: &str) -> Result<Option<Found>, String> {
    let name = CString::new(user).map_err(|_| "a name has no NUL in it".to_owned())?;
    // SAFETY: all-zero is a valid `passwd`: numbers and null pointers.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut found = std::ptr::null_mut();
    let status = match user.parse::<libc::uid_t>() {
        // SAFETY: all pointers point to live memory, and the length of the buffer is true.
        Ok(number) => unsafe {
            libc::getpwuid_r(number, &raw mut entry, buffer.as_mut_ptr(), buffer.len(), &raw mut found)
        },
        // SAFETY: as above; the name ends in NUL.
        Err(_) => unsafe {
            libc::getpwnam_r(name.as_ptr(), &raw mut entry, buffer.as_mut_ptr(), buffer.len(), &raw mut found)
        },
    };
    if status != 0 {
        return Err(format!("the user {user} cannot be looked up: {}", io::Error::from_raw_os_error(status)));
    }
    if found.is_null() {
        return Ok(None);
    }
    // SAFETY: an entry that was found has a name; it is in the buffer and ends in NUL.
    let name = unsafe { CStr::from_ptr(entry.pw_name) }.to_owned();
    Ok(Some((name, entry.pw_uid, entry.pw_gid)))
}

fn find_group(group: &str) -> Result<libc::gid_t, String> {
    if let Ok(number) = group.parse() {
        return Ok(number);
    }
    let name = CString::new(group).map_err(|_| "a name has no NUL in it".to_owned())?;
    // SAFETY: all-zero is a valid `group`: a number and null pointers.
    let mut entry: libc::group = unsafe { std::mem::zeroed() };
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut found = std::ptr::null_mut();
    // SAFETY: all pointers point to live memory, the length of the buffer is true, and the name ends in NUL.
    let status = unsafe {
        libc::getgrnam_r(name.as_ptr(), &raw mut entry, buffer.as_mut_ptr(), buffer.len(), &raw mut found)
    };
    match (status, found.is_null()) {
        (0, false) => Ok(entry.gr_gid),
        (0, true) => Err(format!("there is no group {group}")),
        (status, _) => {
            Err(format!("the group {group} cannot be looked up: {}", io::Error::from_raw_os_error(status)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Identity;

    /// Names and numbers are found, and an absent name or number is an error.
    #[test]
    fn lookups() {
        let root = Identity::find("root", None);

        assert_eq!(root, Identity::find("0", Some("0")));
        assert_eq!(Err("there is no user nobody-at-all".to_owned()), Identity::find("nobody-at-all", None));
        assert_eq!(
            Err("there is no group no-group-at-all".to_owned()),
            Identity::find("0", Some("no-group-at-all"))
        );
        assert!(Identity::find("4000000000", None).is_err_and(|why| why.contains("has no entry")));
        assert!(Identity::find("4000000000", Some("4000000000")).is_ok());
    }

    /// A trial as another user affects only its own thread; only root can make one, and the process stays root.
    #[test]
    fn looks() {
        let other = Identity::find("4000000000", Some("4000000000")).ok();
        let tried = other.and_then(|other| other.try_out(|| rustix::process::geteuid().as_raw()).ok());
        let is_root = rustix::process::geteuid().is_root();

        assert_eq!(is_root.then_some(4_000_000_000), tried);

        let own = rustix::process::geteuid().as_raw().to_string();
        let own = Identity::find(&own, None).and_then(|own| own.try_out(|| 1).map_err(|why| why.to_string()));

        assert!(own.is_ok() || !is_root, "{own:?}");
    }
}

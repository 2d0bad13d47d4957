use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use tinygram_host::hand::SocketOption;

use super::*;

const ON: u32 = 1;

fn folder() -> (tempfile::TempDir, PathBuf) {
    // In memory: each change is written through, and some disks take their time.
    let above = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let folder = above.path().join("tinygram");
    (above, folder)
}

/// Begins a change of nodelay of these sockets, which had these values.
fn changed(journal: &mut Journal, sockets: &[(u64, u32)]) -> u64 {
    let id = journal
        .begin(
            SocketOption::Nodelay,
            Raw::of(ON),
            7,
            "set 80 nodelay=on",
            false,
        )
        .unwrap();
    let before = sockets
        .iter()
        .map(|(cookie, value)| (*cookie, Raw::of(*value)));
    journal.sockets(id, before.collect()).unwrap();
    id
}

#[test]
fn a_change_is_in_force_until_it_is_undone() {
    let (_above, folder) = folder();
    let mut journal = Journal::open(&folder).unwrap();
    let id = changed(&mut journal, &[(1, 0), (2, 1)]);
    drop(journal);

    let mut journal = Journal::open(&folder).unwrap();
    let all: Vec<_> = journal.in_force().map(|(id, _)| id).collect();
    assert_eq!(all, [id]);
    let entry = &journal.changes[&id];
    assert!(entry.is_attended(), "this process made it");
    assert_eq!(entry.about.why, "set 80 nodelay=on");
    assert_eq!(
        journal.release(id).unwrap(),
        [(1, Raw::of(0)), (2, Raw::of(1))]
    );
    journal.undone(id).unwrap();
    drop(journal);
    assert_eq!(Journal::open(&folder).unwrap().in_force().count(), 0);
}

#[test]
fn folders_above_it_are_made_too() {
    let (_above, folder) = folder();
    let folder = folder.join("lib/tinygram");
    let mut journal = Journal::open(&folder).unwrap();
    changed(&mut journal, &[(1, 0)]);
    let mode = fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_paused_journal_takes_in_what_others_wrote() {
    let (_above, folder) = folder();
    let mut journal = Journal::open(&folder).unwrap();
    let first = changed(&mut journal, &[(1, 0)]);
    let paused = journal.pause().unwrap();
    let mut other = Journal::open(&folder).unwrap();
    let second = changed(&mut other, &[(1, 1)]);
    drop(other);
    let mut journal = paused.resume().unwrap();
    assert_eq!(journal.in_force().count(), 2);
    assert!(journal.release(first).unwrap().is_empty());
    assert_eq!(journal.release(second).unwrap(), [(1, Raw::of(0))]);
    for id in [first, second] {
        journal.undone(id).unwrap();
    }
}

#[test]
fn a_long_journal_is_written_anew_with_what_is_in_force() {
    let (_above, folder) = folder();
    let mut journal = Journal::open(&folder).unwrap();
    let kept = changed(&mut journal, &[(1, 0)]);
    let paused = journal.pause().unwrap();
    let mut other = Journal::open(&folder).unwrap();
    let many: Vec<_> = (2..40_000).map(|cookie| (cookie, 0)).collect();
    let undone = changed(&mut other, &many);
    other.unchanged(undone, (2..39_999).collect()).unwrap();
    other.pause().unwrap();
    let length = fs::metadata(folder.join(FILE)).unwrap().len();
    assert!(length < 1000, "{length}");

    let mut journal = paused.resume().unwrap();
    assert!(journal.damage().is_empty(), "{:?}", journal.damage());
    assert_eq!(journal.release(kept).unwrap(), [(1, Raw::of(0))]);
    assert_eq!(journal.release(undone).unwrap(), [(39_999, Raw::of(0))]);
    let next = changed(&mut journal, &[(3, 0)]);
    assert!(next > undone, "no number is given twice");
}

/// Writing it anew would save nothing, and cost each process that has read it another reading.
#[test]
fn a_long_journal_of_what_is_in_force_is_left_as_it_is() {
    use std::os::unix::fs::MetadataExt;
    let (_above, folder) = folder();
    let many: Vec<_> = (0..100_000).map(|cookie| (cookie, 0)).collect();
    changed(&mut Journal::open(&folder).unwrap(), &many);
    let about = || fs::metadata(folder.join(FILE)).unwrap();
    assert!(about().len() > LARGE);
    let before = about().ino();
    Journal::open(&folder).unwrap().pause().unwrap();
    assert_eq!(about().ino(), before);
}

/// Its program set the value itself between the listing and the sweep.
#[test]
fn what_was_not_changed_is_not_put_back() {
    let (_above, folder) = folder();
    let mut journal = Journal::open(&folder).unwrap();
    let id = changed(&mut journal, &[(1, 0), (2, 0)]);
    journal.unchanged(id, vec![2]).unwrap();
    drop(journal);
    let mut journal = Journal::open(&folder).unwrap();
    assert_eq!(journal.release(id).unwrap(), [(1, Raw::of(0))]);
}

/// The first is undone while the second is in force: the second keeps its value, and when it is undone the socket
/// gets back what it had before both.
#[test]
fn two_changes_of_a_socket_do_not_undo_each_other() {
    let (_above, folder) = folder();
    let mut journal = Journal::open(&folder).unwrap();
    let first = changed(&mut journal, &[(1, 0), (2, 0)]);
    let second = changed(&mut journal, &[(1, ON)]);
    assert_eq!(journal.release(first).unwrap(), [(2, Raw::of(0))]);
    journal.undone(first).unwrap();
    drop(journal);
    let mut journal = Journal::open(&folder).unwrap();
    assert_eq!(journal.release(second).unwrap(), [(1, Raw::of(0))]);
}

#[test]
fn a_torn_last_line_is_dropped_and_said() {
    let (_above, folder) = folder();
    let mut journal = Journal::open(&folder).unwrap();
    let id = changed(&mut journal, &[(1, 0)]);
    drop(journal);
    let path = folder.join(FILE);
    let whole = fs::read(&path).unwrap();
    let lines = whole.iter().filter(|octet| **octet == b'\n').count();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let mut journal = Journal::open(&folder).unwrap();
        let is_torn = length > 0 && whole[length - 1] != b'\n';
        assert_eq!(journal.damage().len(), usize::from(is_torn), "{length}");
        // What comes after stands in lines of its own.
        let next = changed(&mut journal, &[(9, 0)]);
        drop(journal);
        let journal = Journal::open(&folder).unwrap();
        assert!(journal.damage().is_empty(), "{length}");
        assert!(journal.changes[&next].sockets.contains_key(&9));
    }
    assert_eq!((lines, id), (2, 1));
}

/// Whatever an octet becomes: the journal opens, and what it then says was said before.
#[test]
fn a_damaged_line_says_nothing() {
    let (_above, folder) = folder();
    let mut journal = Journal::open(&folder).unwrap();
    let id = changed(&mut journal, &[(1, 0), (2, 0)]);
    drop(journal);
    let path = folder.join(FILE);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() - 1 {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x11;
        fs::write(&path, &damaged).unwrap();
        let journal = Journal::open(&folder).unwrap();
        assert!(!journal.damage().is_empty(), "{at}");
        if let Some(entry) = journal.changes.get(&id) {
            assert!(entry.sockets.keys().all(|cookie| [1, 2].contains(cookie)));
        }
    }
}

#[test]
fn what_others_could_have_written_is_refused() {
    let (above, folder) = folder();
    drop(Journal::open(&folder).unwrap());
    let said = |folder: &Path| Journal::open(folder).err().unwrap().to_string();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(said(&folder).contains("mode 755"), "{}", said(&folder));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();

    let link = above.path().join("link");
    symlink(&folder, &link).unwrap();
    assert!(Journal::open(&link).is_err(), "a link to a folder");

    let file = folder.join(FILE);
    let other = above.path().join("other");
    fs::rename(&file, &other).unwrap();
    symlink(&other, &file).unwrap();
    assert!(Journal::open(&folder).is_err(), "a link to a file");
    fs::remove_file(&file).unwrap();
    fs::hard_link(&other, &file).unwrap();
    assert!(said(&folder).contains("2 names"), "{}", said(&folder));
    fs::remove_file(&other).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(said(&folder).contains("mode 644"), "{}", said(&folder));
}

/// Whoever noted the number of a change undoes that change or none.
#[test]
fn no_number_is_given_twice() {
    let (_above, folder) = folder();
    let mut journal = Journal::open(&folder).unwrap();
    let first = changed(&mut journal, &[(1, 0)]);
    journal.undone(first).unwrap();
    drop(journal);
    let many: Vec<_> = (0..40_000).map(|cookie| (cookie, 0)).collect();
    let mut journal = Journal::open(&folder).unwrap();
    let second = changed(&mut journal, &many);
    drop(journal);
    let large = fs::metadata(folder.join(FILE)).unwrap().len();
    let mut journal = Journal::open(&folder).unwrap();
    assert_eq!(
        journal.in_force().count(),
        1,
        "what is in force stays, however long"
    );
    journal.undone(second).unwrap();
    drop(journal);
    let mut journal = Journal::open(&folder).unwrap();
    assert!(
        fs::metadata(folder.join(FILE)).unwrap().len() < 200,
        "{large}"
    );
    assert_eq!([first, second, changed(&mut journal, &[(1, 0)])], [1, 2, 3]);
}

/// A machine that was started anew has other sockets with the same cookies.
#[test]
fn changes_of_another_boot_are_over() {
    let (_above, folder) = folder();
    let mut journal = Journal::open(&folder).unwrap();
    journal.boot = "another".to_owned();
    changed(&mut journal, &[(1, 0)]);
    drop(journal);
    assert_eq!(Journal::open(&folder).unwrap().in_force().count(), 0);
}

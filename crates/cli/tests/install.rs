//! `tinygram install` in an image of these tests' own.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn install(root: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.arg("install").args(words).arg("--root").arg(root);
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    text.concat()
}

/// An image with a service.
fn image() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let units = root.path().join("usr/lib/systemd/system");
    fs::create_dir_all(&units).unwrap();
    fs::create_dir_all(root.path().join("etc")).unwrap();
    fs::write(
        units.join("myapp.service"),
        "[Service]\nExecStart=/bin/true\n",
    )
    .unwrap();
    root
}

/// Returns everything below a folder with its content.
fn all_of(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                folders.push(path.clone());
                all.insert(path, Vec::new());
            } else {
                let content = fs::read_link(&path).map_or_else(
                    |_| fs::read(&path).unwrap(),
                    |to| to.to_string_lossy().into_owned().into_bytes(),
                );
                all.insert(path, content);
            }
        }
    }
    all
}

fn has_library() -> bool {
    let is_built_for = cfg!(all(target_arch = "x86_64", target_env = "gnu"));
    if !is_built_for {
        eprintln!("skipped: the library of run is not built for this machine");
    }
    is_built_for
}

#[test]
fn what_is_installed_is_listed_and_taken_out_to_the_last_folder() {
    if !has_library() {
        return;
    }
    let image = image();
    let root = image.path();
    let before = all_of(root);
    let dry = install(root, &["--unit", "myapp", "--cure", "8080", "--dry-run"]);
    assert_eq!(dry.status.code(), Some(0), "{}", said(&dry));
    assert!(
        said(&dry).contains("Environment=\"LD_PRELOAD=/usr/local/lib/tinygram/libtinygram-"),
        "{}",
        said(&dry)
    );
    assert_eq!(all_of(root), before, "a dry run writes nothing");

    let done = install(
        root,
        &["--unit", "myapp", "--only", "8080", "--cure", "8080"],
    );
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let drop_in = root.join("etc/systemd/system/myapp.service.d/60-tinygram.conf");
    let text = fs::read_to_string(&drop_in).unwrap();
    assert!(
        text.contains("policy=flush-on-block") && text.contains("only=8080"),
        "{text}"
    );
    let service = root.join("etc/systemd/system/tinygram-cure-8080.service");
    let text = fs::read_to_string(service).unwrap();
    assert!(
        text.contains("ExecStart=\"/usr/bin/tinygram\" \"cure\" \"8080\" \"--watch\" \"3600s\""),
        "{text}"
    );
    // Twice is as once.
    let again = install(
        root,
        &["--unit", "myapp", "--only", "8080", "--cure", "8080"],
    );
    assert_eq!(again.status.code(), Some(0), "{}", said(&again));
    assert_eq!(said(&install(root, &["--list"])).lines().count(), 4);

    let removed = install(root, &["--remove"]);
    assert_eq!(removed.status.code(), Some(0), "{}", said(&removed));
    assert_eq!(all_of(root), before);
    let nothing = install(root, &["--remove"]);
    assert_eq!(nothing.status.code(), Some(1), "{}", said(&nothing));
}

/// A crash after the manifest, between two files, or in the middle of one.
#[test]
fn what_a_crash_left_is_taken_out() {
    if !has_library() {
        return;
    }
    let image = image();
    let root = image.path();
    let before = all_of(root);
    let names = [
        "etc/systemd/system/tinygram-cure-80.service",
        "etc/systemd/system/myapp.service.d/60-tinygram.conf",
    ];
    for lost in 0..4 {
        install(root, &["--unit", "myapp", "--cure", "80"]);
        for name in &names[..lost.min(2)] {
            fs::remove_file(root.join(name)).unwrap();
        }
        if lost == 3 {
            let torn = root.join("etc/systemd/system/.tinygram-cure-80.service.tinygram-new");
            fs::write(torn, "[Unit]\nDescr").unwrap();
        }
        let removed = install(root, &["--remove"]);
        assert_eq!(removed.status.code(), Some(0), "{}", said(&removed));
        assert_eq!(all_of(root), before, "{lost}");
    }
}

#[test]
fn what_others_have_made_or_changed_stays() {
    if !has_library() {
        return;
    }
    let image = image();
    let root = image.path();
    let folder = root.join("etc/systemd/system/myapp.service.d");
    fs::create_dir_all(&folder).unwrap();
    let drop_in = folder.join("60-tinygram.conf");
    fs::write(&drop_in, "# mine\n").unwrap();
    let before = all_of(root);
    let refused = install(root, &["--unit", "myapp"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(
        said(&refused).contains("is not tinygram's"),
        "{}",
        said(&refused)
    );
    assert_eq!(all_of(root), before, "nothing is half written");

    fs::remove_file(&drop_in).unwrap();
    install(root, &["--unit", "myapp"]);
    fs::write(&drop_in, "# changed\n").unwrap();
    let removed = install(root, &["--remove"]);
    assert_eq!(removed.status.code(), Some(2), "{}", said(&removed));
    assert!(
        said(&removed).contains("was changed since, so it stays"),
        "{}",
        said(&removed)
    );
    assert_eq!(fs::read_to_string(&drop_in).unwrap(), "# changed\n");

    // Another library by the same variable would be replaced.
    fs::remove_file(&drop_in).unwrap();
    fs::write(
        folder.join("10-jemalloc.conf"),
        "[Service]\nEnvironment=LD_PRELOAD=/usr/lib/libjemalloc.so\n",
    )
    .unwrap();
    let refused = install(root, &["--unit", "myapp"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(
        said(&refused).contains("10-jemalloc.conf sets LD_PRELOAD already"),
        "{}",
        said(&refused)
    );
}

/// A link in an image must not lead to a file of this system.
#[test]
fn no_link_is_followed_out_of_an_image() {
    let image = image();
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), image.path().join("etc/systemd")).unwrap();
    let refused = install(image.path(), &["--cure", "80"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(
        said(&refused).contains("symbolic link"),
        "{}",
        said(&refused)
    );
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// The file says what there is: what is not in it any more is taken out, and what was asked for otherwise stays.
#[test]
fn a_file_of_policies_is_what_is_installed() {
    if !has_library() {
        return;
    }
    let image = image();
    let root = image.path();
    let before = all_of(root);
    let config = tempfile::NamedTempFile::new().unwrap();
    let file = config.path().to_str().unwrap();
    let listed = || said(&install(root, &["--list"]));
    install(root, &["--cure", "99"]);
    fs::write(
        file,
        "[[policy]]\nunit = \"myapp\"\ndo = \"nodelay\"\n[[policy]]\nport = 80\ndo = \"cure\"\nwatch = \"10m\"\n",
    )
    .unwrap();
    let output = install(root, &["--config", file]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(
        listed().contains("myapp.service.d") && listed().contains("cure-80"),
        "{}",
        listed()
    );
    fs::write(file, "[[policy]]\nport = 81\ndo = \"cure\"\n").unwrap();
    install(root, &["--config", file]);
    let now = listed();
    assert!(
        !now.contains("myapp") && !now.contains("cure-80.") && now.contains("cure-81"),
        "{now}"
    );
    assert!(now.contains("cure-99"), "{now}");
    fs::write(file, "[[policy]]\nport = 81\n").unwrap();
    let bad = install(root, &["--config", file]);
    assert_eq!(bad.status.code(), Some(2), "{}", said(&bad));
    assert!(
        said(&bad).contains("missing field `do`") && said(&bad).lines().count() == 1,
        "{}",
        said(&bad)
    );
    assert_eq!(listed(), now);
    install(root, &["--remove"]);
    assert_eq!(all_of(root), before);
}

/// systemd itself reads what was written, with names that would break out of a unit.
#[test]
fn systemd_accepts_the_units() {
    if !has_library() {
        return;
    }
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("skipped: there is no systemd-analyze here");
        return;
    }
    let image = image();
    let root = image.path();
    let program = env!("CARGO_BIN_EXE_tinygram");
    let words = [
        "--unit",
        "myapp",
        "--cure",
        "8080",
        "--cure",
        "a b%n$HOME\"\\'; x",
        "--program",
        program,
    ];
    let done = install(root, &words);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let units = root.join("etc/systemd/system");
    // The drop-in is read with its unit, which lies beside it here.
    fs::copy(
        root.join("usr/lib/systemd/system/myapp.service"),
        units.join("myapp.service"),
    )
    .unwrap();
    let mut names: Vec<_> = fs::read_dir(&units)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "service"))
        .collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    let verify = |names: &[PathBuf]| {
        let mut command = Command::new("systemd-analyze");
        command
            .args(["verify", "--man=no", "--recursive-errors=no"])
            .args(names);
        command.output().unwrap()
    };
    let output = verify(&names);
    assert!(output.status.success(), "{}", said(&output));
    let about_ours = |text: &str| text.contains("tinygram-cure") || text.contains("60-tinygram");
    let complaints: Vec<_> = said(&output)
        .lines()
        .filter(|line| about_ours(line))
        .map(str::to_owned)
        .collect();
    assert_eq!(complaints, Vec::<String>::new());
    // It does complain of a line that it does not know.
    let bad = units.join("tinygram-cure-8080.service");
    let text = fs::read_to_string(&bad)
        .unwrap()
        .replace("Restart=", "Restrat=");
    fs::write(&bad, text).unwrap();
    assert!(said(&verify(&[bad])).contains("Restrat"));
}

#[test]
fn what_cannot_be_installed_is_refused_in_one_line() {
    let image = image();
    let before = all_of(image.path());
    for (words, part) in [
        (&[][..], "nothing to install"),
        (&["--unit", "../../etc/passwd"], "name of a service"),
        (&["--unit", "a\nb"], "name of a service"),
        (&["--unit", "x.socket"], "name of a service"),
        (
            &["--unit", "a", "--policy", "hold"],
            "flush-on-block and nodelay",
        ),
        (&["--cure", "a\nb"], "printable"),
        (&["--cure", "80", "--watch", "5s"], "1m to 24h"),
        (&["--cure", "80", "--program", "tinygram"], "absolute path"),
        (&["--config", "/no/such/file"], "--config /no/such/file"),
        (&["--remove", "--unit", "a"], "--unit"),
    ] {
        let output = install(image.path(), words);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(part) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(all_of(image.path()), before);
}

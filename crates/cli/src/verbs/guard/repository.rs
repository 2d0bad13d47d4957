//! Files as annotations name them.

use std::path::{Path, PathBuf};

/// Returns a file as annotations name it: relative to the root of the repository that is tested. This is `workspace`
/// (GitHub's name for the checkout's folder) if the file is in it, else the repository of the folder `here` where the
/// command ran. A file outside of both keeps its absolute name: it may be a dependency's, whose own repository has a file
/// of the same name. `None` if there is no such file.
pub(super) fn within(file: &str, workspace: Option<&Path>, here: &Path) -> Option<String> {
    let file = std::fs::canonicalize(here.join(file)).ok()?;
    let roots = [workspace.map(Path::to_owned), top_level(here)];
    let inside = roots.into_iter().flatten().find_map(|root| {
        let root = std::fs::canonicalize(root).ok()?;
        file.strip_prefix(root).ok().map(Path::to_owned)
    });
    Some(inside.unwrap_or(file).display().to_string())
}

/// Returns the nearest of a folder and those above it with a `.git`, which is a file in a worktree or a submodule.
fn top_level(folder: &Path) -> Option<PathBuf> {
    let mut folders = folder.ancestors();
    let root = folders.find(|folder| folder.join(".git").exists());
    root.map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_from_the_root_of_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("checkout");
        std::fs::create_dir_all(root.join("app/tests")).unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        let file = root.join("app/tests/slow.py");
        std::fs::write(&file, "").unwrap();
        let name = file.to_str().unwrap();
        for here in [&root, &root.join("app")] {
            let named = within(name, None, here);
            assert_eq!(named.as_deref(), Some("app/tests/slow.py"));
        }
        let relative = within("tests/slow.py", None, &root.join("app"));
        assert_eq!(relative.as_deref(), Some("app/tests/slow.py"));
        let odd = root.join("app/../app/tests/slow.py");
        let odd = within(odd.to_str().unwrap(), None, &root);
        assert_eq!(odd.as_deref(), Some("app/tests/slow.py"));
        // GitHub's folder counts, if the file is in it.
        let workspace = within(name, Some(folder.path()), &root);
        assert_eq!(workspace.as_deref(), Some("checkout/app/tests/slow.py"));
        let other = root.join("app/tests/none");
        std::fs::create_dir(&other).unwrap();
        let outside = within(name, Some(&other), &root);
        assert_eq!(outside.as_deref(), Some("app/tests/slow.py"));
        assert_eq!(within("/no/such/file.py", None, &root), None);
    }

    /// As in cargo's folder of git checkouts: its root is not that of the repository that is tested.
    #[test]
    fn a_file_of_a_dependency_with_its_own_repository_keeps_its_absolute_name() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        for repository in ["checkout/.git", "dependency/.git", "dependency/src"] {
            std::fs::create_dir_all(folder.join(repository)).unwrap();
        }
        let file = folder.join("dependency/src/lib.rs");
        std::fs::write(&file, "").unwrap();
        let (name, checkout) = (file.to_str().unwrap(), folder.join("checkout"));
        for workspace in [None, Some(checkout.as_path())] {
            assert_eq!(within(name, workspace, &checkout).as_deref(), Some(name));
        }
    }
}

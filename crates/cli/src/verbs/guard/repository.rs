//! Files as annotations name them.

use std::path::{Path, PathBuf};

/// Returns a file as annotations name it: relative to the root of its repository. This is `workspace` (GitHub's name
/// for the checkout's folder) if the file is in it, else the nearest folder above the file that git takes for one.
/// `None` if there is no such file.
pub(super) fn within(file: &str, workspace: Option<&Path>) -> Option<String> {
    // Relative names are relative to the folder where the command ran, which is ours.
    let file = std::fs::canonicalize(file).ok()?;
    let checkout = workspace
        .and_then(|root| std::fs::canonicalize(root).ok())
        .filter(|root| file.starts_with(root));
    let root = checkout.or_else(|| top_level(&file));
    let inside = root.and_then(|root| file.strip_prefix(root).ok().map(Path::to_owned));
    Some(inside.unwrap_or(file).display().to_string())
}

/// Returns the nearest folder above with a `.git`, which is a file in a worktree or a submodule.
fn top_level(file: &Path) -> Option<PathBuf> {
    let mut above = file.ancestors().skip(1);
    let root = above.find(|folder| folder.join(".git").exists());
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
        assert_eq!(within(name, None).as_deref(), Some("app/tests/slow.py"));
        let odd = root.join("app/../app/tests/slow.py");
        let odd = within(odd.to_str().unwrap(), None);
        assert_eq!(odd.as_deref(), Some("app/tests/slow.py"));
        // GitHub's folder counts, if the file is in it.
        let workspace = within(name, Some(folder.path()));
        assert_eq!(workspace.as_deref(), Some("checkout/app/tests/slow.py"));
        let other = root.join("app/tests/none");
        std::fs::create_dir(&other).unwrap();
        let outside = within(name, Some(&other));
        assert_eq!(outside.as_deref(), Some("app/tests/slow.py"));
        assert_eq!(within("/no/such/file.py", None), None);
    }
}

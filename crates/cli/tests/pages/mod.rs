//! Pages as a browser shows them.

use std::path::Path;
use std::process::Command;

/// Opens a page in Chromium, where there is one, and fails if anything is wrong with it (`crates/cli/tests/pages/check-pages`).
pub(crate) fn open(page: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/check-pages");
    match Command::new(script).arg(page).output() {
        Ok(seen) if seen.status.code() == Some(77) => {
            println!("no Chromium: the page is not opened");
        }
        Ok(seen) => assert!(
            seen.status.success(),
            "{}",
            String::from_utf8_lossy(&seen.stdout)
        ),
        Err(error) => println!("no Python: the page is not opened ({error})"),
    }
}

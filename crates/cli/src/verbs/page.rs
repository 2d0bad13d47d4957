//! `tinygram page [FILE]`

use std::path::{Path, PathBuf};

use tinygram_report::Destination;

use crate::files::failed;
use crate::outcome::{Done, Failure};

/// Write the page that judges captures in a browser, offline, and plays the papers
///
/// The page is one file. Open it from disk: it needs no network and no server, and it sends nothing anywhere.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to write; - for standard output
    #[arg(default_value = "tinygram.html")]
    file: PathBuf,
}

/// The page, empty if the program was built without one.
static PAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tinygram.html"));

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    written(PAGE, &args.file)
}

fn written(page: &[u8], file: &Path) -> Result<Done, Failure> {
    if page.is_empty() {
        return Err(Failure::Input(
            "this build carries no page (in a checkout, page/build --program dist builds one that does)"
                .into(),
        ));
    }
    if file == Path::new("-") {
        return super::print(page);
    }
    let destination = Destination::open(file).map_err(|error| failed(file, error))?;
    destination
        .write(page)
        .map_err(|error| failed(file, error))?;
    Ok(Done::Well)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_appears_whole_and_a_build_without_one_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.html");
        let refused = written(b"", &file).unwrap_err();
        assert!(
            refused.line().contains("carries no page"),
            "{}",
            refused.line()
        );
        assert!(!file.exists());
        assert!(matches!(written(b"<!doctype html>", &file), Ok(Done::Well)));
        assert_eq!(std::fs::read(&file).unwrap(), b"<!doctype html>");
    }
}

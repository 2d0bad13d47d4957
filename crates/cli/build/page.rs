//! The page that a build is to carry.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// Returns the octets of the page that `TINYGRAM_PAGE` names, relative to the checkout; none if it names nothing.
///
/// # Errors
/// A sentence if the file cannot be read, or is not this version's page.
pub(crate) fn to_carry(
    named: Option<&OsStr>,
    checkout: &Path,
    version: &str,
) -> Result<Vec<u8>, String> {
    let Some(named) = named.filter(|it| !it.is_empty()) else {
        return Ok(Vec::new());
    };
    let file = checkout.join(named);
    let shown = file.display();
    let page = fs::read_to_string(&file).map_err(|error| format!("reading {shown}: {error}"))?;
    if !page.starts_with("<!doctype html>") || !page.contains("id=\"module\"") {
        return Err(format!("{shown} is not the page (page/build makes it)"));
    }
    if !page.contains(&format!("<!-- tinygram {version}. ")) {
        return Err(format!(
            "{shown} is the page of another version than {version} (page/build makes it anew)"
        ));
    }
    Ok(page.into_bytes())
}

//! tinygram for a browser: what a page calls, and what it is asked for.
//!
//! The interface is small enough to be written by hand. Numbers go both ways. Text goes to the module
//! through the [`room`], and everything that the module gives is handed out piece by piece through
//! [`host::write`]. The page's worker calls [`begin`], [`file`] for each file, [`start`], [`step`] until it
//! returns 0, and then asks for documents. The workers of "Play" call [`play`] alone.
//!
//! A file is read in slices that the page hands over when they are asked for ([`host::read`]). No more
//! than a slice of each file is in memory.

mod given;
mod host;
mod play;
mod session;
mod story;

use std::cell::RefCell;

use session::Session;

thread_local! {
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static SESSION: RefCell<Session> = RefCell::new(Session::default());
}

fn with<T>(of: impl FnOnce(&mut Session) -> T) -> T {
    SESSION.with_borrow_mut(of)
}

/// Returns the first `length` octets of the room, as text.
fn said(length: usize) -> String {
    ROOM.with_borrow(|room| {
        let said = &room[..length.min(room.len())];
        String::from_utf8_lossy(said).into_owned()
    })
}

/// Makes room for so many octets, and returns where it is.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    ROOM.with_borrow_mut(|room| {
        room.clear();
        room.resize(length, 0);
        room.as_mut_ptr()
    })
}

/// Forgets everything and is ready for other captures.
#[unsafe(no_mangle)]
pub extern "C" fn begin() {
    std::panic::set_hook(Box::new(|about| host::say(&about.to_string())));
    with(|session| *session = Session::default());
}

/// Adds a file, whose name is in the room. Files are numbered in this order, from 0.
#[unsafe(no_mangle)]
pub extern "C" fn file(name_length: usize) {
    let name = said(name_length);
    with(|session| session.file(name));
}

/// Groups the files into captures, so that [`step`] can read them.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    with(Session::start);
}

/// Reads up to so many frames. Returns 0 when all is read.
#[unsafe(no_mangle)]
pub extern "C" fn step(frames: u32) -> u32 {
    with(|session| u32::from(session.step(frames)))
}

/// Ends the reading here; what was read is judged.
#[unsafe(no_mangle)]
pub extern "C" fn stop() {
    with(Session::stop);
}

/// Writes what is known so far, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn progress() {
    with(|session| host::write(session.progress().as_bytes()));
}

/// Writes the outcome, as JSON: the sentence, and the files that could not be read.
#[unsafe(no_mangle)]
pub extern "C" fn outcome() {
    with(|session| host::write(session.outcome().as_bytes()));
}

/// Writes the page of the diagnosis; what made it is in the room.
#[unsafe(no_mangle)]
pub extern "C" fn html(origin_length: usize) {
    let origin = said(origin_length);
    with(|session| host::write(session.html(origin).as_bytes()));
}

/// Writes the JSON document of the diagnosis.
#[unsafe(no_mangle)]
pub extern "C" fn json() {
    with(Session::json);
}

/// Writes the findings as CSV.
#[unsafe(no_mangle)]
pub extern "C" fn csv() {
    with(|session| host::write(session.csv().as_bytes()));
}

/// Writes a copy of the first capture with comments on the frames of each finding. Returns 0 if that
/// succeeded.
#[unsafe(no_mangle)]
pub extern "C" fn annotated() -> u32 {
    with(|session| match session.annotated() {
        Ok(()) => 0,
        Err(reason) => {
            host::say(&reason);
            1
        }
    })
}

/// Reads a capture again and writes the story of one of its frames, as JSON. Returns 0 if that succeeded.
#[unsafe(no_mangle)]
pub extern "C" fn story(capture: u32, frame: f64) -> u32 {
    // A capture has fewer frames than 2^53, so the number is exact.
    with(
        |session| match session.story(capture as usize, frame as u64) {
            Ok(told) => {
                host::write(told.as_bytes());
                0
            }
            Err(reason) => {
                host::say(&reason);
                1
            }
        },
    )
}

/// Answers the question of "Play" that is in the room, as JSON. Returns 0 if that succeeded.
#[unsafe(no_mangle)]
pub extern "C" fn play(question_length: usize) -> u32 {
    std::panic::set_hook(Box::new(|about| host::say(&about.to_string())));
    match play::answer(&said(question_length)) {
        Ok(answer) => {
            host::write(answer.to_string().as_bytes());
            0
        }
        Err(reason) => {
            host::say(&reason);
            1
        }
    }
}

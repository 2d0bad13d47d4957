//! An accusation can be audited: which checks were asked, what each saw, which bounded it; and the story of any frame.

use crate::player::{OPEN, Player, STALL};
use crate::pools::FAR;
use tinygram_diagnose::{Analyzer, Filter, Kind, Parameters};

/// Returns the story of a frame.
fn story(script: &[&str], frame: u64) -> String {
    story_with(Parameters::default(), script, frame)
}

fn story_with(parameters: Parameters, script: &[&str], frame: u64) -> String {
    let mut player = Player::new();
    player.analyzer = Analyzer::new(Parameters {
        explain: Some(frame),
        ..parameters
    });
    for part in script {
        player.play(part).later(100);
    }
    player.report().explanation.join("\n")
}

/// Frame 6 is held behind frame 4 until the ACK in frame 5.
#[test]
fn a_stall_is_told_from_each_of_its_three_frames() {
    let told = |frame| story(&[OPEN, STALL], frame);
    let held = told(6);
    assert!(
        held.contains("Held? Yes: its 200 bytes waited 41.0 ms behind the 100 bytes of frame 4")
    );
    assert!(held.contains("until the ACK in frame 5 came"), "{held}");
    assert!(
        held.contains("Asked and passed: delayed-ack, link-speed"),
        "{held}"
    );
    assert!(
        held.contains("So it is write-write-read by the client, likely"),
        "{held}"
    );
    assert!(held.contains("Likely and no more, because"), "{held}");
    assert!(held.lines().count() <= 10, "{held}");
    assert!(told(4).contains("the data behind which frame 6 waited"));
    let release = told(5);
    assert!(release.contains("Held? No: it has no data."), "{release}");
    assert!(
        release.contains("the ACK upon which frame 6 waited"),
        "{release}"
    );
}

/// What is not accused has a story, too.
#[test]
fn the_story_of_what_is_not_accused_says_why() {
    assert!(story(&[OPEN, STALL], 7).contains("Held? No: it is the first data of its sender"));
    let again = "10.0 c P 50\n10.2 s P 20\n10.3 c .";
    assert!(story(&[OPEN, STALL, again], 10).contains("it answers what the peer sent"));
    // The program takes 30 ms after the late ACK.
    let thinks = "10.0 c P 100\n51.0 s .\n81.0 c P 200\n81.2 s P 300\n81.3 c .";
    let told = story(&[OPEN, thinks], 6);
    assert!(
        told.contains("Held? No: its program produced it later"),
        "{told}"
    );
    // It goes on by itself, and nobody answers.
    let alone = "10.0 c P 100\n51.0 s .\n51.05 c P 200\n92.0 s .\n300.0 c P 100\n341.0 s .";
    let told = story(&[OPEN, alone], 6);
    assert!(told.contains("Held? It looks so"), "{told}");
    assert!(
        told.contains("So it is no stall but nobody-waited"),
        "{told}"
    );
    assert!(story(&[OPEN], 9).contains("The capture has no frame 9: it has 3."));
}

/// A hold that is possible is one as well where findings of its kind are not kept: nothing has ruled it out.
#[test]
fn what_is_possible_is_not_ruled_out_because_it_is_not_kept() {
    let possible = story(&[FAR], 6);
    assert!(
        possible.contains("Possible and no more, because other connections of the program"),
        "{possible}"
    );
    let another_kind = Parameters {
        filter: Some(Filter {
            kinds: vec![Kind::TinygramFlood],
            ..Filter::default()
        }),
        ..Parameters::default()
    };
    let no_room = Parameters {
        finding_limit: 0,
        ..Parameters::default()
    };
    for parameters in [another_kind, no_room] {
        let told = story_with(parameters, &[FAR], 6);
        assert!(told.contains("Held? Perhaps"), "{told}");
        assert!(told.contains("Asked corroborated: no"), "{told}");
        assert!(
            told.contains("So nothing is said of it: its kind"),
            "{told}"
        );
    }
}

/// Every segment with data has a story, also one that left before the ACK can have reached its sender, one behind a prompt ACK,
/// and one that was sent before.
#[test]
fn every_segment_with_data_has_a_story() {
    let script = "
        0     c S
        60    s S.
        60.1  c .
        61    s P 100
        102   c .
        120   s P 100
        200   c P 50
        260   s P 10
        260.1 c .
        280   s P 100
        280.1 c .
        420   s P 100
        420.1 c .
        500   s P 100
        900   s P 100 again
        900.1 c .
    ";
    let told = |frame| story(&[script], frame);
    let segments = script.lines().filter(|line| !line.trim().is_empty());
    for (at, line) in segments.enumerate().skip(2) {
        let told = told(at as u64 + 1);
        assert!(
            !told.contains("no segment of a connection"),
            "{line}: {told}"
        );
    }
    assert!(told(6).contains("before the acknowledgment can have reached its sender"));
}

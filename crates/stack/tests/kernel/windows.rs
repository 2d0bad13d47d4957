//! Readers that stop reading for a long time.

use std::time::Duration;

use libtest_mimic::Trial;

use crate::common::{Stream, receive, send};
use crate::world::{Family, Line, World, kernel, kernel_receives, kernel_sends};
use crate::{long_or, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("windows/the-kernels-stays-closed", kernels_stays_closed),
        trial("windows/ours-stays-closed", ours_stays_closed),
    ]
}

/// More than all buffers hold.
const LEN: u64 = 20_000_000;

fn pause() -> Duration {
    Duration::from_secs(long_or(180, 2))
}

async fn kernels_stays_closed() {
    let world = World::new(Line::PLAIN);
    let (ours, theirs) = world.connected(Family::V4, true).await;
    let (_from, to) = ours.into_split();
    let reads = kernel(move || {
        std::thread::sleep(pause());
        kernel_receives(&theirs).expect("all of it")
    });
    let (sent, came) = tokio::join!(send(to, 5, LEN), reads);
    sent.expect("we could send");
    assert_eq!(came, Stream::digest(5, LEN));
}

async fn ours_stays_closed() {
    let world = World::new(Line::PLAIN);
    let (ours, theirs) = world.connected(Family::V6, false).await;
    let reads = async {
        tokio::time::sleep(pause()).await;
        assert!(ours.info().readable <= 1 << 20);
        receive(ours).await.expect("all of it")
    };
    let (sent, came) = tokio::join!(kernel(move || kernel_sends(&theirs, 6, LEN)), reads);
    sent.expect("the kernel could send");
    assert_eq!(came, Stream::digest(6, LEN));
}

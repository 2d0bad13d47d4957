//! Urgent data in both directions.

use std::io::{Read, Write};

use libtest_mimic::Trial;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::trial;
use crate::world::{Family, Line, World, kernel};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("urgent/the-kernel-sends", kernel_sends),
        trial("urgent/we-send", we_send),
    ]
}

async fn kernel_sends() {
    let world = World::new(Line::PLAIN);
    let (mut ours, mut theirs) = world.connected(Family::V4, false).await;
    ours.set_urgent_inline(false);
    let sends = kernel(move || {
        theirs.write_all(b"before").expect("a write");
        let sent = SockRef::from(&theirs).send_out_of_band(b"!");
        assert_eq!(sent.expect("an urgent write"), 1);
        theirs.write_all(b"behind").expect("a write");
        theirs
    });
    let takes = async {
        let urgent = ours.read_urgent().await.expect("the urgent octet");
        let mut before = [0; 6];
        ours.read_exact(&mut before)
            .await
            .expect("what precedes it");
        let at_mark = ours.is_at_mark();
        let mut behind = [0; 6];
        ours.read_exact(&mut behind).await.expect("what follows it");
        (urgent, before, at_mark, behind)
    };
    let (taken, _theirs) = tokio::join!(takes, sends);
    assert_eq!(taken, (b'!', *b"before", true, *b"behind"));
    assert!(!ours.is_at_mark());
}

async fn we_send() {
    let world = World::new(Line::OFFLOAD);
    let (mut ours, mut theirs) = world.connected(Family::V6, true).await;
    ours.write_all(b"before").await.expect("a write");
    assert_eq!(ours.write_urgent(b"!").await.expect("an urgent write"), 1);
    ours.write_all(b"behind").await.expect("a write");
    ours.shutdown().await.expect("a FIN");
    let read = kernel(move || {
        let mut all = Vec::new();
        let mut piece = [0; 100];
        // A read stops at the mark.
        let len = theirs.read(&mut piece).expect("what precedes it");
        all.extend_from_slice(&piece[..len]);
        while all.len() < 6 {
            let len = theirs.read(&mut piece).expect("the rest of it");
            all.extend_from_slice(&piece[..len]);
        }
        let mut urgent = [std::mem::MaybeUninit::new(0)];
        let socket = SockRef::from(&theirs);
        // Announced it is; it may still be on its way.
        while socket.recv_out_of_band(&mut urgent).is_err() {
            std::thread::yield_now();
        }
        // SAFETY: it was initialised above, and the kernel has written one octet.
        let urgent = unsafe { urgent[0].assume_init() };
        theirs.read_to_end(&mut all).expect("what follows it");
        (urgent, all)
    });
    assert_eq!(read.await, (b'!', b"beforebehind".to_vec()));
}

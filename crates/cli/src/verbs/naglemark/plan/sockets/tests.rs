//! What arguments mean on sockets, and which combinations are refused.

use clap::Parser;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_naglemark::SocketPolicy;

use super::*;

#[derive(Debug, Parser)]
struct Typed {
    #[command(flatten)]
    args: Args,
}

fn meant(line: &str) -> Result<(Plan, OnSockets), String> {
    let words = std::iter::once("naglemark").chain(line.split_whitespace());
    let typed = Typed::try_parse_from(words).map_err(|error| error.to_string())?;
    match Meant::from(&typed.args) {
        Ok(Meant {
            plan,
            on: On::Sockets(on),
            ..
        }) => Ok((plan, *on)),
        Ok(other) => panic!("{other:?}"),
        Err(Failure::Input(line)) => Err(line),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn each_backend_is_told_what_it_can_be_told() {
    let policies = |line| meant(line).unwrap().0.policies.len();
    let (options, ours) = (SocketPolicy::ALL.len(), SendPolicy::LIST.len());
    assert_eq!(policies("--backend stack"), ours);
    assert_eq!(policies("--backend sim,stack --hosts linux-tun"), ours);
    assert_eq!(
        policies("--backend sim,stack --hosts linux-tun --policy all"),
        options + ours
    );
    assert_eq!(
        policies("--backend sim,kernel,stack --hosts linux-veth"),
        options
    );
    assert_eq!(policies("--backend kernel --policy all"), options);
    assert_eq!(policies("--hosts linux-veth"), options);
    assert_eq!(
        policies("--hosts linux-tun --profile modern --policy nagle,quickack"),
        2
    );
}

#[test]
fn the_link_is_the_likest_that_the_backends_have() {
    let links = |line| {
        let (_, on) = meant(line).unwrap();
        on.joined.unwrap().names()
    };
    assert_eq!(links("--backend kernel").0, "loopback");
    assert_eq!(links("--backend kernel,stack"), ("veth", "tun"));
    assert_eq!(
        links("--backend kernel,stack --link loopback"),
        ("loopback", "tun")
    );
    assert_eq!(
        links("--backend kernel,stack --link emulated"),
        ("emulated", "emulated")
    );
    assert_eq!(links("--backend stack --link emulated").1, "emulated");
    assert!(meant("--backend stack").unwrap().1.needs_namespaces());
    assert!(
        !meant("--backend sim,kernel --hosts linux-veth")
            .unwrap()
            .1
            .needs_namespaces()
    );
}

#[test]
fn progress_counts_every_transfer() {
    let transfers = |line| {
        let (plan, on) = meant(line).unwrap();
        plan.transfers() * on.backends.len() as u64
    };
    let policies = SendPolicy::LIST.len() as u64;
    assert_eq!(transfers("--backend stack"), policies * 1000);
    assert_eq!(
        transfers(
            "--backend sim,stack --hosts linux-tun --policy off --trial S,R --transfers 7 --repetitions 3"
        ),
        2 * 2 * 7 * 3
    );
}

#[test]
fn contradictions_are_named() {
    for (line, told) in [
        (
            "--backend stack --link veth",
            "accepted with --backend stack: emulated",
        ),
        (
            "--backend sim,stack --hosts linux-tun --link loopback",
            "a TUN device of its own",
        ),
        (
            "--backend stack --offload",
            "--offload belongs to --backend kernel",
        ),
        (
            "--backend kernel,stack --connect 192.0.2.1:1",
            "leave out one",
        ),
        ("--backend stack --loss 1%", "need --link emulated"),
        ("--backend sim,stack", "add --hosts linux-veth"),
        (
            "--backend sim,kernel --hosts paper",
            "simulates Linux's hosts",
        ),
        (
            "--backend kernel --hosts linux-veth",
            "--hosts belongs to --backend sim",
        ),
        ("--backend stack --ack-timer 40ms", "--ack-timer belongs to"),
        (
            "--backend kernel,stack --policy dldet",
            "accepted with --backend kernel: default,",
        ),
        (
            "--backend kernel,stack --profile tru64_4",
            "accepted with --backend kernel: linux_6",
        ),
        (
            "--backend stack --naglim 30 --policy off",
            "--naglim belongs to",
        ),
        (
            "--hosts linux-veth --warmup 3",
            "--warmup belongs to --backend kernel, bpf or stack",
        ),
    ] {
        let refusal = meant(line).unwrap_err();
        assert!(refusal.contains(told), "{line}: {refusal}");
        assert!(!refusal.contains('\n'), "{line}");
    }
}

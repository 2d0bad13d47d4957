//! A policy in the kernel, for the lifetime of a value.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use aya_obj::generated::{bpf_attach_type, bpf_map_type, bpf_prog_type};
use tinygram_host::lacking::Lacking;
use tinygram_host::namespace::Namespace;
use tinygram_host::start;

use super::base::Base;
use super::kernel_types::{KernelTypes, Kind};
use super::object::{FUNCTIONS, Ready};
use super::run::{self, Counts, Run};
use super::sys::{self, MapToMake, ProgramToLoad, Types};
use crate::policy::BpfPolicy;

/// A registered policy.
///
/// When the value is dropped, or the process ends in whatever way, the name is gone and no new connection gets the
/// policy. Connections that have it keep it until they close, unless they are [given back](Self::give_back) what they
/// had.
pub struct Loaded {
    name: String,
    object: Ready,
    chooser: OwnedFd,
    giver_back: OwnedFd,
    /// The links to control groups.
    groups: Vec<OwnedFd>,
    _links: Vec<OwnedFd>,
}

impl Loaded {
    /// Registers a policy on a base. `parameter` is the policy's number, if it has one and another than its default is
    /// wanted.
    ///
    /// # Errors
    ///
    /// Returns what the kernel or the privileges lack, in one line.
    pub fn load(policy: &BpfPolicy, base: Base, parameter: Option<u32>) -> Result<Self, Lacking> {
        if policy.paces() && base == Base::Bbr {
            return Err(Lacking::Other(format!(
                "{} holds by the kernel's pacing timer, which bbr uses itself: accepted with it are cubic and reno",
                policy.name
            )));
        }
        let types = types()?;
        let name = unique_name();
        let mut registered = [0; NAME_OCTETS];
        registered[..name.len()].copy_from_slice(name.as_bytes());
        let (number, sees_writes) = (base.number().to_ne_bytes(), sees_writes(&types));
        let sees_writes = u32::from(sees_writes).to_ne_bytes();
        let starts_apart = u32::from(starts_apart(&types)).to_ne_bytes();
        let mut constants: Vec<(&str, &[u8])> = vec![
            ("base", &number),
            ("sees_writes", &sees_writes),
            ("starts_apart", &starts_apart),
            ("registered", &registered),
        ];
        let chosen = parameter.map(u32::to_ne_bytes);
        if let (Some(parameter), Some(chosen)) = (policy.parameter, &chosen) {
            constants.push((parameter.constant, chosen));
        }
        let object = Ready::new(policy.object, &constants, &types)?;
        sys::update(
            object.map(run::MAP),
            0,
            &own_run(policy, base, &name).write(),
        )
        .map_err(|error| Lacking::of(&error))?;
        let mut links = tracepoints(&object, policy, &types)?;
        links.push(register(&object, policy, base, &name, &types)?);
        let chooser = load(
            &object,
            "choose",
            bpf_prog_type::BPF_PROG_TYPE_SOCK_OPS as u32,
            bpf_attach_type::BPF_CGROUP_SOCK_OPS as u32,
            0,
        )?;
        let walk = types
            .number(Kind::Function, "bpf_iter_tcp")
            .ok_or(Lacking::Tracepoint("iter/tcp", "6.4"))?;
        let giver_back = load(
            &object,
            "give_back",
            TRACING,
            bpf_attach_type::BPF_TRACE_ITER as u32,
            walk,
        )?;
        Ok(Self {
            name,
            object,
            chooser,
            giver_back,
            groups: Vec::new(),
            _links: links,
        })
    }

    /// Returns the name under which it is registered (`TCP_CONGESTION`). It is unique on this host, and takes
    /// CAP_NET_ADMIN.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the policy to each connection that the programs of a control group, or of one below it, open or accept from
    /// now on, and sets TCP_NODELAY, so that the kernel's own rule never holds beside it.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses.
    pub fn choose_for(&mut self, group: BorrowedFd<'_>) -> io::Result<()> {
        let link = sys::link(
            self.chooser.as_fd(),
            Some(group),
            bpf_attach_type::BPF_CGROUP_SOCK_OPS,
        )?;
        self.groups.push(link);
        Ok(())
    }

    /// Gives the policy to no connection any more that is not named by hand.
    pub fn choose_for_none(&mut self) {
        self.groups.clear();
    }

    /// Gives the connections of a network namespace that got the policy by their control group what they had before.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses.
    pub fn give_back(&self, within: &Namespace) -> io::Result<()> {
        let walk = || -> io::Result<()> {
            let link = sys::link(
                self.giver_back.as_fd(),
                None,
                bpf_attach_type::BPF_TRACE_ITER,
            )?;
            let mut walk = File::from(sys::walk(link.as_fd())?);
            let mut nothing = [0; 64];
            loop {
                match walk.read(&mut nothing) {
                    Ok(0) => return Ok(()),
                    Ok(_) => {}
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                        ) => {}
                    Err(error) => return Err(error),
                }
            }
        };
        within.within(walk)?
    }

    /// Does the same in the network namespace of every process. Namespaces that may not be entered are left out.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses.
    pub fn give_all_back(&self) -> io::Result<()> {
        let own = Namespace::own()?;
        self.give_back(&own)?;
        let mut seen = BTreeSet::from([own.inode]);
        let processes = std::fs::read_dir("/proc")?.flatten();
        for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
            let namespace = Namespace::of(pid).ok();
            if let Some(namespace) = namespace.filter(|it| seen.insert(it.inode)) {
                // One that may not be entered has none of ours, or they keep what they have until they close.
                let _ = self.give_back(&namespace);
            }
        }
        Ok(())
    }

    /// Returns what became of sockets so far.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses.
    pub fn counts(&self) -> io::Result<Counts> {
        let mut octets = vec![0; run::OCTETS];
        sys::look_up(self.object.map(run::MAP), 0, &mut octets)?;
        Ok(Run::read(&octets).map_or_else(Counts::default, |run| run.counts))
    }
}

/// Reads the types that a policy needs, whatever its base.
fn types() -> Result<KernelTypes, Lacking> {
    let functions = FUNCTIONS.iter().map(|name| (Kind::Function, *name));
    let others = [
        (Kind::Structure, OPERATIONS),
        (Kind::Structure, VALUE),
        (Kind::Alias, WRITES),
        (Kind::Alias, CALLS),
        (Kind::Alias, ARRIVALS),
        (Kind::Alias, READS),
        (Kind::Function, "bpf_iter_tcp"),
    ];
    let wanted: Vec<_> = functions.chain(others).collect();
    KernelTypes::read(&wanted)
}

/// Loads the functions of a congestion control, and registers it until the result is closed.
fn register(
    object: &Ready,
    policy: &BpfPolicy,
    base: Base,
    name: &str,
    types: &KernelTypes,
) -> Result<OwnedFd, Lacking> {
    let lacking = || {
        Lacking::Other(
            "this kernel takes no congestion controls as BPF: it takes Linux 6.4 or newer".into(),
        )
    };
    let operations = types.structure(OPERATIONS).ok_or_else(lacking)?;
    let number = types
        .number(Kind::Structure, OPERATIONS)
        .ok_or_else(lacking)?;
    let whole = types.structure(VALUE).ok_or_else(lacking)?;
    let value_number = types.number(Kind::Structure, VALUE).ok_or_else(lacking)?;
    let (_, data_at) = whole.member("data").ok_or_else(lacking)?;
    let mut value = vec![0; whole.octets as usize];
    let mut programs = Vec::new();
    for member in members(policy, base, types) {
        let (place, at) = operations.member(member).ok_or_else(lacking)?;
        let program = load(
            object,
            member,
            bpf_prog_type::BPF_PROG_TYPE_STRUCT_OPS as u32,
            place,
            number,
        );
        let program = program.map_err(|lacking| without(base, types, lacking))?;
        let at = data_at + at;
        let descriptor = u64::try_from(program.as_raw_fd()).expect("a descriptor");
        value[at..at + 8].copy_from_slice(&descriptor.to_ne_bytes());
        programs.push(program);
    }
    let (_, at) = operations.member("name").ok_or_else(lacking)?;
    value[data_at + at..data_at + at + name.len()].copy_from_slice(name.as_bytes());
    // Without TCP_CONG_NON_RESTRICTED it is not for ordinary users.
    let flags = if policy.needs_events { NEEDS_ECN } else { 0 };
    let (_, at) = operations.member("flags").ok_or_else(lacking)?;
    value[data_at + at..data_at + at + 4].copy_from_slice(&flags.to_ne_bytes());
    let map = sys::make_map(&MapToMake {
        name,
        map_type: bpf_map_type::BPF_MAP_TYPE_STRUCT_OPS as u32,
        key_octets: 4,
        value_octets: whole.octets,
        entries: 1,
        flags: LINKED,
        types: Types::Kernel {
            btf: object.btf(),
            value: value_number,
        },
    });
    let registered = map.and_then(|map| {
        sys::update(map.as_fd(), 0, &value)?;
        sys::link(map.as_fd(), None, bpf_attach_type::BPF_STRUCT_OPS)
    });
    registered.map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => lacking(),
        _ => Lacking::of(&error),
    })
}

/// Returns the members of `struct tcp_congestion_ops` that a policy on a base has.
fn members(
    policy: &BpfPolicy,
    base: Base,
    types: &KernelTypes,
) -> impl Iterator<Item = &'static str> {
    let event = "cwnd_event";
    let has_events = base.members().any(|member| member == event);
    let start = (has_events && starts_apart(types)).then_some(START);
    let is_lacking = policy.needs_events && !has_events;
    base.members()
        .chain(is_lacking.then_some(event))
        .chain(start)
}

/// Returns whether the kernel tells apart that sending begins: Linux 7.3 does, and 6.18 does not.
fn starts_apart(types: &KernelTypes) -> bool {
    let operations = types.structure(OPERATIONS);
    operations.is_some_and(|operations| operations.member(START).is_some())
}

const START: &str = "cwnd_event_tx_start";

/// `TCP_CONG_NEEDS_ECN`: the kernel then tells of each arriving segment of data, if ECN was negotiated.
const NEEDS_ECN: u32 = 2;

/// Says that the kernel lacks the base, if that is why a program was refused.
fn without(base: Base, types: &KernelTypes, lacking: Lacking) -> Lacking {
    let entry = match base {
        Base::Cubic => "cubictcp_init",
        Base::Reno => "tcp_reno_ssthresh",
        Base::Bbr => "bbr_init",
    };
    match (&lacking, types.number(Kind::Function, entry)) {
        (Lacking::Other(_), None) => Lacking::Other(format!(
            "this kernel has no {base} that BPF programs may call: it must be built in, and Linux 6.1 or newer"
        )),
        _ => lacking,
    }
}

/// Attaches what tells where writes begin and calls end, and where data comes and is read.
fn tracepoints(
    object: &Ready,
    policy: &BpfPolicy,
    types: &KernelTypes,
) -> Result<Vec<OwnedFd>, Lacking> {
    let calls = types
        .number(Kind::Alias, CALLS)
        .ok_or(Lacking::Tracepoint("sock_send_length", "6.4"))?;
    let writes = types.number(Kind::Alias, WRITES);
    let wanted = [("write_copies", writes), ("call_ends", Some(calls))];
    let mut receiving = Vec::new();
    if policy.sees_queues {
        for (program, alias, shown) in [
            ("data_came", ARRIVALS, "sk_data_ready"),
            ("data_read", READS, "sock_recv_length"),
        ] {
            let at = types.number(Kind::Alias, alias);
            receiving.push((program, Some(at.ok_or(Lacking::Tracepoint(shown, "6.4"))?)));
        }
    }
    let present = wanted
        .into_iter()
        .chain(receiving)
        .filter_map(|(program, at)| Some((program, at?)));
    present
        .map(|(program, at)| {
            let program = load(
                object,
                program,
                TRACING,
                bpf_attach_type::BPF_TRACE_RAW_TP as u32,
                at,
            )?;
            sys::trace(program.as_fd()).map_err(|error| Lacking::of(&error))
        })
        .collect()
}

fn load(
    object: &Ready,
    name: &str,
    program_type: u32,
    attach_type: u32,
    attach_to: u32,
) -> Result<OwnedFd, Lacking> {
    let program = ProgramToLoad {
        name,
        program_type,
        attach_type,
        attach_to,
        instructions: object.instructions(name),
        license: &object.license,
    };
    sys::load_program(&program).map_err(|error| Lacking::of(&error))
}

fn own_run(policy: &BpfPolicy, base: Base, name: &str) -> Run {
    let pid = std::process::id();
    Run {
        policy: policy.name.into(),
        base: base.name().into(),
        registered: name.into(),
        loader_pid: pid,
        loader_began: start::started(pid).unwrap_or(0),
        counts: Counts::default(),
        groups: Vec::new(),
        is_registered: true,
    }
}

/// Returns a name that nothing else on this host has: the kernel's list of congestion controls is one for all network
/// namespaces.
fn unique_name() -> String {
    static LOADED: AtomicU32 = AtomicU32::new(0);
    let count = LOADED.fetch_add(1, Ordering::Relaxed);
    format!("tg_{:x}_{count:x}", std::process::id())
}

fn sees_writes(types: &KernelTypes) -> bool {
    types.number(Kind::Alias, WRITES).is_some()
}

const OPERATIONS: &str = "tcp_congestion_ops";
const VALUE: &str = "bpf_struct_ops_tcp_congestion_ops";
const WRITES: &str = "btf_trace_tcp_sendmsg_locked";
const CALLS: &str = "btf_trace_sock_send_length";
const ARRIVALS: &str = "btf_trace_sk_data_ready";
const READS: &str = "btf_trace_sock_recv_length";
const NAME_OCTETS: usize = 16;
const LINKED: u32 = 1 << 13; // BPF_F_LINK
const TRACING: u32 = bpf_prog_type::BPF_PROG_TYPE_TRACING as u32;

//! Loads the BPF objects of this crate.

use std::fs::File;

use aya::maps::Map;
use aya::programs::{CgroupAttachMode, Program};
use aya::{Btf, Ebpf, EbpfLoader};

use crate::calls::{Calls, attach};
use crate::groups::groups_root;
use crate::lacking::{Lacking, missing};

/// A loaded object, and the types of the running kernel, which its programs are attached by.
pub(crate) struct Programs {
    pub(crate) object: Ebpf,
    pub(crate) btf: Btf,
}

impl Programs {
    pub(crate) fn load(object: &[u8]) -> Result<Self, Lacking> {
        let btf = Btf::from_sys_fs().map_err(|_| Lacking::types())?;
        let object = EbpfLoader::new().btf(Some(&btf)).load(object);
        let object = object.map_err(|error| Lacking::of(&error))?;
        Ok(Self { object, btf })
    }

    /// Attaches programs, each to its tracepoint or function: pairs of their names. They stay attached as long as the object.
    pub(crate) fn attach(&mut self, pairs: &[(&str, &str)]) -> Result<(), Lacking> {
        for (name, at) in pairs {
            attach(&mut self.object, name, at, &self.btf)?;
        }
        Ok(())
    }

    /// Attaches `wrote` and `read`, or what stands for them on kernels that have no tracepoints for it.
    pub(crate) fn attach_to_calls(&mut self) -> Result<(), Lacking> {
        self.attach(match Calls::of(&self.btf)? {
            Calls::Tracepoints => &[("wrote", "sock_send_length"), ("read", "sock_recv_length")],
            Calls::Returns => &[
                ("sendmsg_returns", "tcp_sendmsg"),
                ("recvmsg_returns", "tcp_recvmsg"),
            ],
        })
    }

    /// Takes a map out of the object.
    pub(crate) fn map<T: TryFrom<Map, Error = aya::maps::MapError>>(
        &mut self,
        name: &str,
    ) -> Result<T, Lacking> {
        let map = self.object.take_map(name).ok_or_else(|| missing(name))?;
        T::try_from(map).map_err(|error| Lacking::of(&error))
    }
}

/// Attaches a program to the control groups' root, where it sees the sockets of all groups. It stays as long as the object.
/// `purpose` is what it is attached for, in an error.
pub(crate) fn attach_to_groups(
    object: &mut Ebpf,
    name: &str,
    purpose: &str,
) -> Result<(), Lacking> {
    let root = groups_root();
    let file = File::open(&root).map_err(|error| {
        let path = root.display();
        Lacking::Other(format!(
            "{purpose} takes control groups of version 2; {path}: {error}"
        ))
    })?;
    // A link stands beside those of others in any mode.
    let mode = CgroupAttachMode::Single;
    let attached = match object.program_mut(name) {
        Some(Program::SockOps(program)) => {
            let loaded = program.load();
            loaded.and_then(|()| program.attach(file, mode).map(drop))
        }
        Some(Program::CgroupSockopt(program)) => {
            let loaded = program.load();
            loaded.and_then(|()| program.attach(file, mode).map(drop))
        }
        _ => return Err(missing(name)),
    };
    attached.map_err(|error| Lacking::of(&error))
}

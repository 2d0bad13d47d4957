//! Sequences of instructions that are known, through which system calls pass.

/// One place where a jump goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// What stands there.
    pub shape: Shape,
    /// Its address, as the file has it.
    pub address: u64,
}

/// A sequence of instructions that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Go's `Syscall6` (1.19 and later): four moves and a SYSCALL.
    GoSyscall,
    /// Go's `runtime.futex`.
    GoFutex,
    /// musl's `__syscall_cp_c` (1.2.3 to 1.2.5, without `pthread_cancel`): seven moves, a SYSCALL and
    /// a return. Its calls that may wait pass here, and its writes.
    MuslSyscall,
    /// A place of static glibc: the move of this call's number, and a SYSCALL.
    GlibcSyscall(u32),
    /// One of `read`: its number's move, a SYSCALL and the comparison behind it.
    GlibcRead,
}

impl Shape {
    /// Returns the octets that must be there, in the file and at run time.
    #[must_use]
    pub fn octets(self) -> Vec<u8> {
        let octets: &[u8] = match self {
            // mov r10,rsi; mov rdx,rdi; mov rsi,rcx; mov rdi,rbx; syscall
            Self::GoSyscall => b"\x49\x89\xf2\x48\x89\xfa\x48\x89\xce\x48\x89\xdf\x0f\x05",
            // mov rdi,[rsp+8]; mov esi,[rsp+16]; mov edx,[rsp+20]; mov r10,[rsp+24]; mov r8,[rsp+32];
            // mov r9d,[rsp+40]; mov eax,202; syscall
            Self::GoFutex => {
                b"\x48\x8b\x7c\x24\x08\x8b\x74\x24\x10\x8b\x54\x24\x14\x4c\x8b\x54\x24\x18\
                  \x4c\x8b\x44\x24\x20\x44\x8b\x4c\x24\x28\xb8\xca\x00\x00\x00\x0f\x05"
            }
            // mov rax,rdi; mov r10,r8; mov rdi,rsi; mov r8,r9; mov rsi,rdx; mov r9,[rsp+8]; mov rdx,rcx;
            // syscall; ret
            Self::MuslSyscall => {
                b"\x48\x89\xf8\x4d\x89\xc2\x48\x89\xf7\x4d\x89\xc8\x48\x89\xd6\x4c\x8b\x4c\x24\x08\
                  \x48\x89\xca\x0f\x05\xc3"
            }
            Self::GlibcSyscall(number) => {
                // mov eax,NUMBER; syscall
                return [&[0xb8][..], &number.to_le_bytes(), b"\x0f\x05"].concat();
            }
            // xor eax,eax; syscall; cmp rax,-4096
            Self::GlibcRead => b"\x31\xc0\x0f\x05\x48\x3d\x00\xf0\xff\xff",
        };
        octets.to_vec()
    }
}

impl Shape {
    /// Returns the offset of what follows its SYSCALL.
    #[must_use]
    pub fn after(self) -> u64 {
        let octets = self.octets();
        let call = octets.windows(2).position(|two| two == b"\x0f\x05");
        call.map_or(0, |at| at as u64 + 2)
    }
}

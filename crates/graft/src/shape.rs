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
    /// Go's `runtime.usleep`, behind its prologue.
    GoUsleep,
    /// musl's `__syscall_cp_c` (1.2.3 to 1.2.5, without `pthread_cancel`): seven moves, a SYSCALL and
    /// a return. Its calls that may wait pass here, and its writes.
    MuslSyscall,
    /// The call of musl's `__syscall_cp_asm` in `__syscall_cp_c`, with its distance, where `pthread_cancel` is linked
    /// in. The same calls pass here.
    MuslCancellable(i32),
    /// A place of static glibc: the move of this call's number, and a SYSCALL.
    GlibcSyscall(u32),
    /// One whose last arguments are loaded between the two.
    GlibcLoads(u32, Loads),
    /// One of `read`: its number's move, a SYSCALL and the comparison behind it.
    GlibcRead,
}

/// The most octets of [`Loads`].
const MOST_LOADS: usize = 15;

/// Moves from the stack to registers, whole instructions: they do the same anywhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Loads {
    octets: [u8; MOST_LOADS],
    length: u8,
}

impl Loads {
    /// Returns these octets if they are such moves, one to three of them, and nothing else.
    pub(crate) fn of(octets: &[u8]) -> Option<Self> {
        let mut rest = octets;
        for _ in 0..3 {
            rest = match *rest {
                // mov REG,[rsp+distance]; with one of the prefixes for 64 bits and for the upper registers
                [0x44 | 0x48 | 0x4c, 0x8b, to, 0x24, _, ref rest @ ..] if to & 0xc7 == 0x44 => rest,
                [0x8b, to, 0x24, _, ref rest @ ..] if to & 0xc7 == 0x44 => rest,
                // mov REG,[rsp]
                [0x44 | 0x48 | 0x4c, 0x8b, to, 0x24, ref rest @ ..] if to & 0xc7 == 0x04 => rest,
                [0x8b, to, 0x24, ref rest @ ..] if to & 0xc7 == 0x04 => rest,
                _ => return None,
            };
            if rest.is_empty() {
                let mut copy = [0; MOST_LOADS];
                copy.get_mut(..octets.len())?.copy_from_slice(octets);
                let length = octets.len() as u8;
                return Some(Self {
                    octets: copy,
                    length,
                });
            }
        }
        None
    }

    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }
}

impl std::fmt::Debug for Loads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:02x?}", self.octets())
    }
}

/// musl's `__syscall_cp_asm` (1.2.3 to 1.2.5): a comparison, moves, a SYSCALL, a return and a jump to the end of a
/// thread that is cancelled.
pub(crate) const MUSL_CANCELLABLE: &[u8] = b"\x8b\x07\x85\xc0\x75\x24\x49\x89\xfb\x48\x89\xf0\x48\x89\xd7\x48\x89\xce\
    \x4c\x89\xc2\x4d\x89\xca\x4c\x8b\x44\x24\x08\x4c\x8b\x4c\x24\x10\x4c\x89\x5c\x24\x08\x0f\x05\xc3\xe9";

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
            // mov edx,0; mov eax,[rsp+32]; mov ecx,1000000; div ecx; mov [rsp],rax; mov eax,1000; mul edx;
            // mov [rsp+8],rax; mov rdi,rsp; mov esi,0; mov eax,35; syscall
            Self::GoUsleep => {
                b"\xba\x00\x00\x00\x00\x8b\x44\x24\x20\xb9\x40\x42\x0f\x00\xf7\xf1\x48\x89\x04\x24\
                  \xb8\xe8\x03\x00\x00\xf7\xe2\x48\x89\x44\x24\x08\x48\x89\xe7\xbe\x00\x00\x00\x00\
                  \xb8\x23\x00\x00\x00\x0f\x05"
            }
            // mov rax,rdi; mov r10,r8; mov rdi,rsi; mov r8,r9; mov rsi,rdx; mov r9,[rsp+8]; mov rdx,rcx;
            // syscall; ret
            Self::MuslSyscall => {
                b"\x48\x89\xf8\x4d\x89\xc2\x48\x89\xf7\x4d\x89\xc8\x48\x89\xd6\x4c\x8b\x4c\x24\x08\
                  \x48\x89\xca\x0f\x05\xc3"
            }
            // call __syscall_cp_asm
            Self::MuslCancellable(distance) => {
                return [&[0xe8][..], &distance.to_le_bytes()].concat();
            }
            Self::GlibcSyscall(number) => {
                // mov eax,NUMBER; syscall
                return [&[0xb8][..], &number.to_le_bytes(), b"\x0f\x05"].concat();
            }
            Self::GlibcLoads(number, loads) => {
                let number = number.to_le_bytes();
                return [&[0xb8][..], &number, loads.octets(), b"\x0f\x05"].concat();
            }
            // xor eax,eax; syscall; cmp rax,-4096
            Self::GlibcRead => b"\x31\xc0\x0f\x05\x48\x3d\x00\xf0\xff\xff",
        };
        octets.to_vec()
    }
}

impl Shape {
    /// Returns the distance from its first octet to what follows its SYSCALL.
    #[must_use]
    pub fn after(self) -> u64 {
        let call = |octets: &[u8]| octets.windows(2).rposition(|two| two == b"\x0f\x05");
        match self {
            Self::MuslCancellable(_) => {
                let inside = call(MUSL_CANCELLABLE).map_or(0, |at| at as u64 + 2);
                self.called().wrapping_add(inside)
            }
            _ => call(&self.octets()).map_or(0, |at| at as u64 + 2),
        }
    }

    /// Returns the distance from its first octet to the function that it calls, if it calls one.
    #[must_use]
    pub(crate) fn called(self) -> u64 {
        match self {
            Self::MuslCancellable(distance) => 5_u64.wrapping_add_signed(distance.into()),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_whole_moves_from_the_stack() {
        // mov rdx,[rsp+16]; mov rsi,[rsp+8]
        let recvfrom = b"\x48\x8b\x54\x24\x10\x48\x8b\x74\x24\x08";
        assert_eq!(Loads::of(recvfrom).unwrap().octets(), recvfrom);
        // mov edi,[rsp]
        assert!(Loads::of(b"\x8b\x3c\x24").is_some());
        for other in [
            &b""[..],
            // Half of one.
            b"\x48\x8b\x54\x24",
            // One and a half.
            b"\x48\x8b\x54\x24\x10\x48\x8b",
            // Relative to what the jump's target is not near to: mov rdx,[rip+16]
            b"\x48\x8b\x15\x10\x00\x00\x00",
            // From another base: mov edi,[rbp-96]
            b"\x8b\x7d\xa0",
            // To the stack: mov [rsp+16],rdx
            b"\x48\x89\x54\x24\x10",
            // xor edx,edx
            b"\x31\xd2",
        ] {
            assert!(Loads::of(other).is_none(), "{other:02x?}");
        }
    }

    #[test]
    fn what_follows_a_call_is_known_for_each_shape() {
        let loads = Loads::of(b"\x8b\x3c\x24").unwrap();
        assert_eq!(Shape::GlibcSyscall(1).after(), 7);
        assert_eq!(Shape::GlibcLoads(45, loads).after(), 10);
        assert_eq!(Shape::GlibcRead.after(), 4);
        assert_eq!(Shape::GoSyscall.after(), 14);
        // __syscall_cp_asm is 0x100 behind the call; its SYSCALL ends at its 41st octet.
        assert_eq!(Shape::MuslCancellable(0x100).after(), 5 + 0x100 + 41);
        assert_eq!(
            Shape::MuslCancellable(-0x100).after(),
            (5_u64 + 41).wrapping_sub(0x100)
        );
    }
}

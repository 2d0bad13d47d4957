//! The kernel's monotonic clock.
//!
//! It is not read through the C library's `clock_gettime`: another preloaded library may replace
//! that function and show the program another time (libfaketime), or stop it. Held bytes must leave
//! in real time.

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use libc::{c_int, c_long, c_void, timespec};

/// Returns the monotonic clock in nanoseconds; never 0, which means "not held".
pub(crate) fn now_ns() -> u64 {
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let known = CLOCK.load(Relaxed);
    let address = if known.is_null() { find() } else { known };
    if address == no_clock as *mut c_void {
        ask_the_kernel(libc::CLOCK_MONOTONIC, &mut now);
    } else {
        // SAFETY: the function of that name in the kernel's object has that type.
        let clock = unsafe { std::mem::transmute::<*mut c_void, Clock>(address) };
        // SAFETY: writes into a local.
        if unsafe { clock(libc::CLOCK_MONOTONIC, &raw mut now) } != 0 {
            ask_the_kernel(libc::CLOCK_MONOTONIC, &mut now);
        }
    }
    (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64).max(1)
}

/// Returns the processor time of this process in nanoseconds: a system call.
pub(crate) fn cpu_ns() -> u64 {
    let mut spent = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    ask_the_kernel(libc::CLOCK_PROCESS_CPUTIME_ID, &mut spent);
    spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64
}

/// Returns this many nanoseconds as the kernel takes them.
pub(crate) fn timespec(nanoseconds: u64) -> timespec {
    timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as _,
        tv_nsec: (nanoseconds % 1_000_000_000) as c_long,
    }
}

type Clock = unsafe extern "C" fn(c_int, *mut timespec) -> c_int;

static CLOCK: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Means that this kernel maps no clock into the process.
extern "C" fn no_clock() {}

#[cold]
fn find() -> *mut c_void {
    // SAFETY: the kernel tells where it mapped its object, if it did.
    let found = unsafe {
        let base = libc::getauxval(libc::AT_SYSINFO_EHDR);
        symbol(base as *const u8, c"__vdso_clock_gettime")
    };
    let address = found.unwrap_or(no_clock as *mut c_void);
    CLOCK.store(address, Relaxed);
    address
}

fn ask_the_kernel(clock: c_int, now: &mut timespec) {
    // SAFETY: the call writes one `timespec`; like every system call it changes rcx and r11.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_clock_gettime => _,
            in("rdi") c_long::from(clock),
            in("rsi") std::ptr::from_mut(now),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
}

/// Returns the address of a function in the object that the kernel maps into every process
/// (vdso(7)): a whole ELF file, whose symbol tables are found through its dynamic section.
///
/// # Safety
/// `base` is null or points to such an object.
unsafe fn symbol(base: *const u8, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the object is mapped whole, and its own tables describe it.
    unsafe {
        let header = base.cast::<libc::Elf64_Ehdr>().as_ref()?;
        let segments = std::slice::from_raw_parts(
            base.add(header.e_phoff as usize).cast::<libc::Elf64_Phdr>(),
            header.e_phnum.into(),
        );
        let loaded = segments.iter().find(|one| one.p_type == libc::PT_LOAD)?;
        let dynamic = segments.iter().find(|one| one.p_type == libc::PT_DYNAMIC)?;
        let at = |address: u64| base.wrapping_add((address - loaded.p_vaddr) as usize);
        let mut entry = base.add(dynamic.p_offset as usize).cast::<[u64; 2]>();
        let (mut strings, mut symbols) = (None, None);
        while (*entry)[0] != DT_NULL {
            match (*entry)[0] {
                DT_STRTAB => strings = Some(at((*entry)[1])),
                DT_SYMTAB => symbols = Some(at((*entry)[1])),
                _ => {}
            }
            entry = entry.add(1);
        }
        let (strings, symbols) = (strings?, symbols?);
        // The string table follows the symbol table, whose length is stated nowhere.
        let room = (strings as usize).checked_sub(symbols as usize)?;
        let count = room / size_of::<libc::Elf64_Sym>();
        std::slice::from_raw_parts(symbols.cast::<libc::Elf64_Sym>(), count)
            .iter()
            .find(|one| {
                one.st_value != 0
                    && CStr::from_ptr(strings.add(one.st_name as usize).cast()) == name
            })
            .map(|one| at(one.st_value).cast_mut().cast())
    }
}

const DT_NULL: u64 = 0;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_tell_the_same_time() {
        let before = now_ns();
        let mut asked = timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        ask_the_kernel(libc::CLOCK_MONOTONIC, &mut asked);
        let between = asked.tv_sec as u64 * 1_000_000_000 + asked.tv_nsec as u64;
        let after = now_ns();
        assert!(before <= between && between <= after);
    }

    #[test]
    fn the_kernel_maps_a_clock_and_nothing_by_another_name() {
        // SAFETY: as in `find`.
        unsafe {
            let base = libc::getauxval(libc::AT_SYSINFO_EHDR) as *const u8;
            assert_eq!(symbol(base, c"__vdso_nothing"), None);
            if base.is_null() {
                eprintln!("skipped: this kernel maps no object into processes");
            } else {
                assert!(symbol(base, c"__vdso_clock_gettime").is_some());
            }
        }
    }
}

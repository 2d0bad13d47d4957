//! The next definition of a hooked function: that of the C library, or of another preloaded
//! library.

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use libc::c_void;

/// A symbol that is looked up once, on its first use: other libraries' constructors may call a hook
/// before this library's has run.
pub(crate) struct Symbol {
    name: &'static CStr,
    /// The version. If one name has two meanings, an unversioned lookup may find the older one:
    /// condition variables from before 2003 have another layout.
    version: Option<&'static CStr>,
    address: AtomicPtr<c_void>,
}

impl Symbol {
    pub(crate) const fn new(name: &'static CStr, version: Option<&'static CStr>) -> Self {
        Self {
            name,
            version,
            address: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        let known = self.address.load(Relaxed);
        if known.is_null() { self.find() } else { known }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // SAFETY: both names are C strings; RTLD_NEXT is valid in any object.
        let found = unsafe {
            match self.version.map(|version| versioned(self.name, version)) {
                Some(address) if !address.is_null() => address,
                _ => libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()),
            }
        };
        // A program that probes for a newer function finds the hook even if the C library has no
        // such function.
        let address = if found.is_null() {
            absent as *mut c_void
        } else {
            found
        };
        self.address.store(address, Relaxed);
        address
    }
}

/// Looks up a symbol of this version.
///
/// # Safety
/// As `dlvsym`.
#[cfg(target_env = "gnu")]
unsafe fn versioned(name: &CStr, version: &CStr) -> *mut c_void {
    // SAFETY: two C strings; RTLD_NEXT is valid in any object.
    unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) }
}

/// Returns null: musl has one version of each symbol.
#[cfg(not(target_env = "gnu"))]
unsafe fn versioned(_: &CStr, _: &CStr) -> *mut c_void {
    std::ptr::null_mut()
}

extern "C" fn absent() -> isize {
    crate::errno::set(libc::ENOSYS);
    -1
}

/// Defines a function `$call` that calls the next definition of the C library's `$name`.
///
/// The ABI is `C-unwind` because cancelling a thread unwinds through a call that waits.
macro_rules! definition {
    ($call:ident = $name:ident $(@ $version:literal)? ( $($arg:ident : $type:ty),* $(,)? ) $(-> $result:ty)?) => {
        /// Calls the definition after this library's.
        #[inline(always)]
        pub(crate) unsafe fn $call($($arg: $type),*) $(-> $result)? {
            static SYMBOL: $crate::next::Symbol = $crate::next::Symbol::new(
                // SAFETY: ends in NUL and has no other.
                unsafe { std::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
                $crate::next::definition!(@version $($version)?),
            );
            type Next = unsafe extern "C-unwind" fn($($type),*) $(-> $result)?;
            // SAFETY: the symbol of that name has that type.
            unsafe { std::mem::transmute::<*mut libc::c_void, Next>(SYMBOL.address())($($arg),*) }
        }
    };
    (@version) => { None };
    (@version $version:literal) => {
        // SAFETY: ends in NUL and has no other.
        Some(unsafe { std::ffi::CStr::from_bytes_with_nul_unchecked(concat!($version, "\0").as_bytes()) })
    };
}

/// Defines hooks. Each `fn name(..) -> ..` becomes the function that the program calls instead of
/// the C library's; `name::next(..)` calls the C library's.
///
/// No hook keeps a value that needs dropping across `next`, because cancelling a thread unwinds
/// through it, and `longjmp` leaves it.
macro_rules! interpose {
    ($(
        $(#[$meta:meta])*
        fn $name:ident $(@ $version:literal)? ( $($arg:ident : $type:ty),* $(,)? ) $(-> $result:ty)? $body:block
    )*) => { $(
        #[allow(non_snake_case, reason = "the C library's names")]
        pub(crate) mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::next::definition!(next = $name $(@ $version)? ( $($arg: $type),* ) $(-> $result)?);
        }

        $(#[$meta])*
        #[allow(non_snake_case, reason = "the C library's names")]
        #[cfg_attr(interpose, unsafe(no_mangle))]
        pub(crate) unsafe extern "C-unwind" fn $name($($arg: $type),*) $(-> $result)? $body
    )* };
}

pub(crate) use {definition, interpose};

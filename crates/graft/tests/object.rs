//! What the compiler made of the injected code, instruction by instruction: how much stack it needs,
//! which registers it touches, and that nothing in it can panic.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory};
use iced_x86::{Mnemonic, Register};
use tinygram_graft::object::Object;

/// The most that the injected code may use of the caller's stack, in octets.
const MOST_STACK: i64 = 400;
/// Over which it steps in glibc, where it is the caller's (the red zone of the System V ABI).
const RED_ZONE: i64 = 128;

/// Where a program's calls arrive, by name.
fn stubs(object: &Object) -> [(&'static str, u64); 6] {
    [
        ("syscall", object.go_syscall),
        ("futex", object.go_futex),
        ("usleep", object.go_usleep),
        ("musl", object.musl_syscall),
        ("musl, cancellable", object.musl_cancellable),
        ("glibc", object.glibc_syscall),
    ]
}

struct Code(BTreeMap<u64, Instruction>);

impl Code {
    fn of(object: &Object) -> Self {
        let mut all = BTreeMap::new();
        let mut decoder = Decoder::with_ip(64, &object.octets, 0, DecoderOptions::NONE);
        // Code begins at the first stub; before it are tables of constants.
        let stubs = stubs(object);
        let first = stubs.map(|(_, at)| at).into_iter().min().unwrap();
        decoder.set_position(first as usize).unwrap();
        decoder.set_ip(first);
        while decoder.can_decode() {
            let instruction = decoder.decode();
            all.insert(instruction.ip(), instruction);
        }
        Self(all)
    }

    /// Returns the beginnings of functions: the stubs and all that is called.
    fn functions(&self, object: &Object) -> BTreeSet<u64> {
        let calls = self.0.values().filter(|one| one.is_call_near());
        let mut starts: BTreeSet<u64> = calls.map(Instruction::near_branch_target).collect();
        starts.extend(stubs(object).map(|(_, at)| at));
        starts
    }

    /// Returns the most stack that a function uses with all that it calls, without its return address.
    fn stack(&self, function: u64, starts: &BTreeSet<u64>) -> i64 {
        let end = starts.range(function + 1..).next().copied();
        let inside: Vec<u64> = match end {
            Some(end) => self.0.range(function..end).map(|(at, _)| *at).collect(),
            None => self.0.range(function..).map(|(at, _)| *at).collect(),
        };
        let mut seen = BTreeMap::new();
        let mut work = vec![(function, 0_i64)];
        let mut most = 0;
        while let Some((at, depth)) = work.pop() {
            let Some(one) = self.0.get(&at) else { continue };
            if seen.get(&at).is_some_and(|known| *known >= depth) {
                continue;
            }
            seen.insert(at, depth);
            let moved = depth - i64::from(one.stack_pointer_increment()) + Self::adjusted(one);
            let next = one.next_ip();
            match one.flow_control() {
                FlowControl::Call => {
                    let callee = one.near_branch_target();
                    most = most.max(depth + 8 + self.stack(callee, starts));
                    work.push((next, depth));
                }
                FlowControl::UnconditionalBranch => work.push((one.near_branch_target(), depth)),
                FlowControl::ConditionalBranch => {
                    work.extend([(one.near_branch_target(), depth), (next, depth)]);
                }
                // A jump by a table of this function (or back into the program, which uses nothing).
                FlowControl::IndirectBranch if one.memory_base() != Register::RIP => {
                    let unseen = inside.iter().filter(|at| !seen.contains_key(*at));
                    work.extend(unseen.map(|at| (*at, depth)));
                }
                // INT3 fills the space between functions.
                FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Interrupt => {}
                _ => work.push((next, moved)),
            }
            most = most.max(moved);
        }
        most
    }

    /// Returns by how much an instruction moves the stack pointer other than by pushing.
    fn adjusted(one: &Instruction) -> i64 {
        if one.op0_register() != Register::RSP {
            return 0;
        }
        match one.mnemonic() {
            Mnemonic::Sub => one.immediate(1) as i64,
            Mnemonic::Add => -(one.immediate(1) as i64),
            // Aligning it by 16 from a multiple of 8.
            Mnemonic::And => 8,
            _ => 0,
        }
    }
}

#[test]
fn four_hundred_octets_of_stack_are_enough() {
    let object = Object::carried().unwrap();
    let code = Code::of(&object);
    let starts = code.functions(&object);
    for (name, stub) in stubs(&object) {
        let used = code.stack(stub, &starts);
        println!("{name}: {used} octets");
        assert!(used >= 32, "{name}: only {used} octets were seen");
        let stepped_over = if name == "glibc" { RED_ZONE } else { 0 };
        let own = used - stepped_over;
        assert!(own <= MOST_STACK, "{name}: {own} octets");
    }
}

#[test]
fn only_integer_registers_are_touched() {
    let object = Object::carried().unwrap();
    let mut factory = InstructionInfoFactory::new();
    for one in Code::of(&object).0.values() {
        for used in factory.info(one).used_registers() {
            let register = used.register();
            assert!(
                !register.is_vector_register() && !register.is_st() && !register.is_mm(),
                "{register:?} at {:#x}",
                one.ip()
            );
        }
    }
}

#[test]
fn nothing_can_panic() {
    let object = Object::carried().unwrap();
    let code = Code::of(&object);
    let trap = code.0.values().find(|one| one.mnemonic() == Mnemonic::Ud2);
    assert!(trap.is_none(), "{trap:?}");
}

//! Programs that the atlas has rows of, recognised by the names of the processes that stall.

use tinygram_remedy::look::Look;
use tinygram_stalls::{Program, Side};

/// Returns who the processes perhaps are, each once.
pub(super) fn perhaps(look: &Look) -> Vec<Program> {
    let stalling = look.stalls.values();
    of(stalling.map(|it| (it.process.name.as_str(), it.first.side)))
}

fn of<'a>(processes: impl Iterator<Item = (&'a str, Side)>) -> Vec<Program> {
    let mut found: Vec<Program> = Vec::new();
    for (name, side) in processes {
        if let Some(program) = Program::of_process(name, side)
            && !found.contains(&program)
        {
            found.push(program);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_named_once_and_an_interpreter_never() {
        let seen = [
            ("mosquitto", Side::Server),
            ("python3", Side::Server),
            ("mosquitto", Side::Server),
            ("mosquitto", Side::Client),
        ];
        let names: Vec<_> = of(seen.into_iter()).iter().map(|it| it.name).collect();
        assert_eq!(names, ["mosquitto"]);
    }
}

//! What `measure` takes from a backend that is not ours.

use tinygram_naglemark::{
    Backend, Conditions, Duration, Error, Keep, MediumKind, Plan, Sample, SocketPolicy, Taken,
    Trial, measure,
};

/// A TCP that answers at once, and makes of the lengths what it is told to.
struct Careless(fn(&mut Vec<u32>));

impl Backend for Careless {
    fn conditions(&self) -> Conditions {
        Conditions::new("careless", MediumKind::Ethernet)
    }

    fn run(&mut self, trial: &Trial) -> Result<Taken, Error> {
        let mut lengths = trial.lengths.to_vec();
        self.0(&mut lengths);
        let elapsed = Duration::from_micros(200);
        let sample = |length| Sample { length, elapsed };
        Ok(Taken {
            samples: lengths.into_iter().map(sample).collect(),
            ..Taken::default()
        })
    }
}

/// Transfers that were left out, or were of other lengths, would count as never delayed.
#[test]
fn what_is_not_the_whole_trial_is_refused() {
    let made = |change| {
        let plan = Plan::default().policies([SocketPolicy::Default]);
        measure(&plan, &mut [&mut Careless(change)], Keep::Scores, &|_| {})
    };
    made(|_| ()).expect("all lengths are there");
    for change in [
        |lengths: &mut Vec<u32>| lengths.clear(),
        |lengths: &mut Vec<u32>| lengths.truncate(3),
        |lengths: &mut Vec<u32>| lengths.push(1),
        |lengths: &mut Vec<u32>| lengths.reverse(),
    ] {
        let error = made(change).expect_err("it is refused").to_string();
        assert!(error.starts_with("measuring careless: "), "{error}");
    }
}

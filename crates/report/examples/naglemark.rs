//! Shows every layout of the naglemark with made-up cells, to look at while changing them:
//! `cargo run -p tinygram-report --example naglemark -- text|html|svg`.

#[path = "../tests/sample/mod.rs"]
mod sample;

use tinygram_report::Ink;
use tinygram_report::naglemark::{Contents, page};

fn main() {
    let panels = sample::panels();
    let shown = match std::env::args().nth(1).as_deref() {
        Some("html") => {
            let contents = Contents {
                parameters: vec![
                    ("seed".into(), "1".into()),
                    ("repetitions".into(), "10".into()),
                ],
                published: true,
                appendix: Vec::new(),
            };
            page(&panels, &contents).to_html()
        }
        Some("svg") => panels[0].figures()[0].1.to_svg(),
        _ => panels
            .iter()
            .flat_map(|panel| [panel.scores(true), panel.scores(false), panel.distances()])
            .map(|table| table.to_text(120, Ink::Plain) + "\n")
            .collect(),
    };
    print!("{shown}");
}

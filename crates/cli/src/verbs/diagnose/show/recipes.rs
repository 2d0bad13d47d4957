//! `--recipes`: how to make the change in common languages and servers.

use std::fmt::Write;

use tinygram_diagnose::recipes;
use tinygram_report::Columns;
use tinygram_stalls::recipes::Recipe;

/// Returns the text of `--recipes`, whose rows go on in a further line where they are wider than `width`.
pub(in super::super) fn text(width: usize) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "Where many small writes follow each other, write once: TCP_NODELAY turns them into as many packets.\n"
    );
    let rows: Vec<_> = recipes::TABLE.iter().map(recipe).collect();
    for line in RECIPES.lines(&rows, width) {
        let _ = writeln!(out, "{line}");
    }
    out
}

const RECIPES: Columns<3> = Columns {
    headings: ["where", "cure", "what to write or set"],
    left: [true, true, true],
};

fn recipe(recipe: &Recipe) -> [String; 3] {
    [recipe.place, recipe.cure.name(), recipe.text].map(str::to_owned)
}

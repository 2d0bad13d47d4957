//! The naglemark's layouts, kept as snapshots; `INSTA_UPDATE=always cargo test -p tinygram naglemark`
//! renews them.

mod sample;

use insta::assert_snapshot;
use tinygram_report::{Document, Ink, csv, json};

use super::{Contents, Panel, SCHEMA, page};

fn ethernet() -> Panel {
    sample::panels().swap_remove(0)
}

#[test]
fn scores_look_like_the_papers_table() {
    assert_snapshot!(ethernet().scores(false).to_text(120, Ink::Plain));
}

#[test]
fn the_papers_scores_stand_beneath_ours() {
    assert_snapshot!(ethernet().scores(true).to_text(120, Ink::Plain));
}

#[test]
fn distances_fit_120_columns() {
    let text = ethernet().distances().to_text(120, Ink::Plain);
    assert!(text.lines().all(|line| line.chars().count() <= 120));
    assert_snapshot!(text);
}

#[test]
fn a_narrow_terminal_gets_panels_beneath_each_other() {
    let text = ethernet().scores(false).to_text(80, Ink::Plain);
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    assert_snapshot!(text);
}

#[test]
fn styles_add_nothing_but_style() {
    let table = ethernet().scores(true);
    let styled = table.to_text(120, Ink::Styled);
    assert!(styled.contains("\u{1b}["));
    assert_eq!(without_styles(&styled), table.to_text(120, Ink::Plain));
}

#[test]
fn markdown_is_one_pipe_table() {
    assert_snapshot!(ethernet().scores(true).to_markdown());
}

#[test]
fn the_document_has_the_promised_fields() {
    #[derive(serde::Serialize)]
    struct Results<'a> {
        cells: &'a [super::Record],
    }
    let panel = ethernet();
    let document = Document {
        schema: SCHEMA,
        parameters: serde_json::json!({ "seed": 1 }),
        results: Results {
            cells: &panel.cells[..1],
        },
    };
    assert_snapshot!(json(&document));
    assert_snapshot!("cells_csv", csv(&panel.cells[..3]));
}

#[test]
fn equal_scores_go_to_the_first_trial_type_and_equal_ranks_to_the_name() {
    let mut panel = ethernet();
    for cell in &mut panel.cells {
        // Both are printed as 3.1%.
        cell.score_percent = if cell.trial == 'R' { 3.13 } else { 3.11 };
    }
    let table = panel.scores(false);
    assert_eq!(table.rows[0][1].text, "S  3.1%");
    let names: Vec<_> = table.rows.iter().map(|row| row[0].text.as_str()).collect();
    assert_eq!(
        names,
        ["E+M+D", "MINSHALL", "NAGLE", "OFF", "flush-on-block"]
    );
}

#[test]
fn a_page_asks_nobody_for_anything() {
    let html = page(&sample::panels(), &Contents::default()).to_html();
    for request in [
        "http:",
        "https:",
        "src=",
        "@import",
        "url(",
        "fetch(",
        "<link rel=\"style",
    ] {
        assert!(!html.contains(request), "the page has {request}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn every_entry_that_opens_something_names_a_series_of_the_page() {
    let html = page(&sample::panels(), &Contents::default()).to_html();
    let opened: Vec<_> = html
        .split("data-opens=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|id| id.contains('/'))
        .collect();
    assert!(!opened.is_empty());
    for id in opened {
        assert!(html.contains(&format!("\"id\":\"{id}\"")), "no series {id}");
    }
}

#[test]
fn names_cannot_break_out_of_the_page() {
    let mut panel = ethernet();
    panel.title = "</script><b>\"".into();
    for cell in &mut panel.cells {
        cell.variant = "</script><i>".into();
    }
    for trace in &mut panel.traces {
        trace.variant = "</script><i>".into();
    }
    let html = page(&[panel], &Contents::default()).to_html();
    assert!(!html.contains("</script><i>"));
    assert!(!html.contains("<b>"));
}

#[test]
fn each_entry_whose_transfers_were_kept_has_a_figure_under_a_name_of_its_own() {
    let mut panel = ethernet();
    // Variants that never stall have their worst score for S, whose transfers are kept.
    panel.cells.retain(|cell| cell.variant == "OFF");
    let mut stems: Vec<_> = panel.figures().into_iter().map(|(stem, _)| stem).collect();
    assert_eq!(stems.len(), 9);
    stems.sort();
    stems.dedup();
    assert_eq!(stems.len(), 9);
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    assert!(stems.iter().all(|stem| stem.chars().all(plain)));
}

fn without_styles(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain += before;
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

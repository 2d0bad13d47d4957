//! Long pages: chapters, articles, charts, and the navigation between them.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use sha2::{Digest as _, Sha256};
use tinygram_report::{
    Align, Article, Axis, Badge, By, Chart, Column, Entry, Ladder, Mark, Page, Part, Place, Point,
    Reason, Reasons, Section, Series, Step, Table, Tone,
};

fn page() -> Page {
    let chart = Chart {
        title: "Figure </script> 1".into(),
        x: Axis::new("length", "bytes"),
        series: vec![Series::new(
            "</script><b>",
            Mark::Squares,
            vec![Point::at(1.0, 0.1 + 0.2)],
        )],
        ..Chart::default()
    };
    let article = Article {
        id: "table-1".into(),
        title: "Table 1 <i>".into(),
        badges: vec![Badge {
            text: "= 3".into(),
            meaning: "3 match".into(),
            tone: Tone::Good,
        }],
        sections: vec![
            Section::Chart(chart),
            Section::Lines {
                title: "a trace".into(),
                lines: vec!["client > server".into()],
            },
        ],
        ..Article::default()
    };
    Page {
        title: "Papers".into(),
        sections: vec![
            Section::Part(Part {
                title: "A paper".into(),
                lead: String::new(),
            }),
            Section::Article(article),
        ],
        origin: "Made by <hand>.".into(),
        ..Page::default()
    }
}

#[test]
fn every_article_can_be_reached_and_says_what_it_counts() {
    let html = page().to_html();
    assert!(
        html.contains("<a href=\"#table-1\">Table 1 &lt;i&gt;</a>"),
        "{html}"
    );
    assert!(html.contains("<article id=\"table-1\">"));
    assert_eq!(
        html.matches("aria-label=\"3 match\"").count(),
        2,
        "there and in the navigation"
    );
}

#[test]
fn many_articles_are_folded_each_behind_its_heading_and_few_are_not() {
    let of = |count: usize| {
        let article = |at: usize| {
            Section::Article(Article {
                id: format!("unit-{at}"),
                title: format!("Unit {at}"),
                ..Article::default()
            })
        };
        let sections = (1..=count).map(article).collect();
        Page {
            sections,
            ..Page::default()
        }
        .to_html()
    };
    let (few, many) = (of(12), of(13));
    assert!(!few.contains("<details class=\"unit\">") && few.contains("<main>"));
    assert_eq!(many.matches("<details class=\"unit\">").count(), 13);
    assert!(many.contains(
        "<article id=\"unit-13\">\n<details class=\"unit\">\n<summary>\n<h3>Unit 13</h3>"
    ));
    assert!(
        many.contains("<main class=\"long\">"),
        "for the style of the margin"
    );
}

#[test]
fn a_page_without_articles_has_no_navigation() {
    assert!(!Page::default().to_html().contains("<nav"));
}

#[test]
fn data_cannot_break_out_of_its_script_and_keeps_no_dust() {
    let html = page().to_html();
    assert!(!html.contains("</script><b>"));
    assert!(
        html.contains("\"xs\":[[1]]") && html.contains("\"y\":[0.3]"),
        "0.1 + 0.2 is shown as 0.3"
    );
    assert!(html.contains("client &gt; server"));
}

/// Returns a page with only this section.
fn html(section: Section) -> String {
    Page {
        sections: vec![section],
        ..Page::default()
    }
    .to_html()
}

fn reasons() -> Reasons {
    let value = |name: &str, paper: &str| [name, paper, "5"].map(String::from).into();
    Reasons {
        title: "What does not agree".into(),
        heads: ["value", "paper", "ours"].map(String::from).into(),
        reasons: vec![Reason {
            count: "\u{2260} 2 values".into(),
            tone: Tone::Odd,
            why: "the `tick` is late".into(),
            places: vec![Place {
                id: "table-1".into(),
                values: vec![value("4 KB, on", "55"), value("4 KB, off", "<6")],
            }],
        }],
    }
}

#[test]
fn a_reason_stands_once_before_all_its_values() {
    let html = html(Section::Reasons(reasons()));
    assert_eq!(html.matches("the <code>tick</code> is late").count(), 1);
    assert!(html.contains("<a href=\"#table-1\">table-1</a>"));
    assert_eq!(html.matches("<th scope=\"row\"").count(), 2);
    // On a narrow screen each value has a label.
    assert!(
        html.contains("data-head=\"paper\"><span>&lt;6</span>"),
        "{html}"
    );
    assert_eq!(
        reasons().to_markdown(),
        "- the `tick` is late (\u{2260} 2 values)\n  - **table-1**\n    \
         - 4 KB, on: paper 55, ours 5\n    - 4 KB, off: paper <6, ours 5\n"
    );
}

#[test]
fn backticks_are_code_in_pairs_and_themselves_alone() {
    let notes = ["see `a < b` and `c`", "it`s"].map(String::from).into();
    let html = html(Section::Notes(notes));
    assert!(
        html.contains("see <code>a &lt; b</code> and <code>c</code>"),
        "{html}"
    );
    assert!(html.contains("it`s"));
}

#[test]
fn rows_of_words_become_cards_and_rows_of_numbers_do_not() {
    let table = |align| {
        let column = |head: &str| Column {
            group: String::new(),
            head: head.into(),
            align,
        };
        let table = Table {
            columns: ["line", "ours", "verdict"].map(column).into(),
            rows: vec![["1", "2", "3"].map(Entry::new).into()],
            ..Table::default()
        };
        html(Section::Table(table))
    };
    assert!(table(Align::Left).contains("data-head=\"verdict\"><span>3</span>"));
    assert!(!table(Align::Right).contains("data-head=\"verdict\""));
}

#[test]
fn what_came_out_stands_before_the_contents_and_what_is_folded_behind_its_summary() {
    let mut page = page();
    let verdict = (Tone::Bad, "It `stalls`.".into());
    page.sections.insert(0, Section::Verdict(vec![verdict]));
    page.sections.push(Section::Folded {
        summary: "All of it".into(),
        sections: vec![Section::List {
            title: "Do this:".into(),
            is_ordered: true,
            items: vec!["first <this>".into()],
        }],
    });
    let html = page.to_html();
    let place = |text: &str| {
        html.find(text)
            .unwrap_or_else(|| panic!("no {text} in {html}"))
    };
    let verdict = place("<p class=\"verdict\" data-tone=\"bad\">It <code>stalls</code>.</p>");
    assert!(verdict < place("<nav"));
    let folded = place("<summary>All of it</summary>");
    assert!(folded < place("<li>first &lt;this&gt;</li>"));
}

/// Points may have ends, words and ladders; a chart without them writes none.
#[test]
fn a_chart_says_on_a_page_what_it_has_and_no_more() {
    let ladder = Ladder {
        title: "slowest".into(),
        ends: ["server", "client"].map(Into::into),
        steps: vec![Step {
            at_ms: 0.123_456,
            by: By::Left,
            text: "seq 1:101".into(),
        }],
    };
    let series = |mark, ladders| Series {
        ladders,
        ..Series::new("it", mark, vec![Point::at(1.0, 2.0).to(3.0).saying("here")])
    };
    let chart = |series| {
        let chart = Chart {
            series: vec![series],
            ..Chart::default()
        };
        let html = html(Section::Chart(chart));
        let (_, data) = html
            .split_once("application/json\">")
            .expect("there is data");
        data.split_once("</script>").expect("it ends").0.to_owned()
    };
    let full = chart(series(Mark::Bars, vec![(0, ladder)]));
    assert!(full.contains("\"end\":[3]") && full.contains("\"said\":[\"here\"]"));
    assert!(
        full.contains("\"steps\":[[0.123,1,\"seq 1:101\"]]"),
        "{full}"
    );
    let bare = chart(series(Mark::Dots, Vec::new()));
    assert!(!bare.contains("\"end\"") && !bare.contains("\"steps\""));
}

/// A browser hashes what stands between the tags; so does this test.
#[test]
fn a_page_allows_its_own_style_and_script_and_nothing_else() {
    let table = Table {
        columns: ["", "value"].map(column).into(),
        rows: vec![vec![
            Entry::new("a"),
            Entry {
                weight: 0.33,
                ..Entry::new("1")
            },
        ]],
        ..Table::default()
    };
    let mut page = page();
    page.sections.push(Section::Table(table));
    let html = page.to_html();
    let policy = between(&html, "content=\"default-src 'none'; ", "\"");
    assert!(!policy.contains("unsafe"), "{policy}");
    for (open, close) in [("<style>", "</style>"), ("\n<script>", "</script>")] {
        let digest = Sha256::digest(between(&html, open, close));
        let hash = format!("'sha256-{}'", BASE64_STANDARD.encode(digest));
        assert!(policy.contains(&hash), "{open} {hash}: {policy}");
    }
    assert!(
        !html.contains(" style=\""),
        "a style in an attribute is not allowed"
    );
    assert!(html.contains("data-weight=\"7\""), "{html}");
    assert!(html.contains("[data-weight=\"7\"] { --weight: 0.35; }"));
}

fn column(head: &str) -> Column {
    Column {
        group: String::new(),
        head: head.into(),
        align: Align::Right,
    }
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> &'a str {
    let (_, rest) = text.split_once(open).expect(open);
    rest.split_once(close).expect(close).0
}

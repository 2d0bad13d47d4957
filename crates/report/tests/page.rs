//! Long pages: chapters, articles, charts, and the navigation between them.

use tinygram_report::{Article, Axis, Badge, Chart, Curve, Mark, Page, Part, Section, Tone};

fn page() -> Page {
    let chart = Chart {
        title: "Figure </script> 1".into(),
        x: Axis {
            name: "length".into(),
            unit: "bytes".into(),
        },
        y: Axis::default(),
        curves: vec![Curve {
            name: "</script><b>".into(),
            mark: Mark::Squares,
            points: vec![(1.0, 0.1 + 0.2)],
        }],
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
fn a_page_without_articles_has_no_navigation() {
    assert!(!Page::default().to_html().contains("<nav"));
}

#[test]
fn data_cannot_break_out_of_its_script_and_keeps_no_dust() {
    let html = page().to_html();
    assert!(!html.contains("</script><b>"));
    assert!(html.contains("[1.0,0.3]"), "0.1 + 0.2 is shown as 0.3");
    assert!(html.contains("client &gt; server"));
}

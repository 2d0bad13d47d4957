use super::*;
use crate::chart::{Axis, Band, Line, Point};

fn chart() -> Chart {
    Chart {
        title: "NAGLE <S>".into(),
        subtitle: "two & two".into(),
        x: Axis::new("message length", "bytes"),
        y: Axis::new("elapsed", "ms"),
        series: vec![
            Series::new("in time", Mark::Dots, vec![Point::at(100.0, 2.0)]),
            Series::new("delayed", Mark::Crosses, vec![Point::at(200.0, 200.0)]),
        ],
        lines: vec![Line {
            name: "estimate".into(),
            at_zero: 10.0,
            slope: 0.0008,
            dashed: false,
        }],
        ..Chart::default()
    }
}

#[test]
fn dots_and_crosses_tell_points_apart_without_colour() {
    let svg = chart().to_svg();
    assert_eq!(svg.matches("<circle").count(), 1);
    assert!(svg.contains("aria-label=\"NAGLE &lt;S&gt;. two &amp; two\""));
    assert!(svg.contains("estimate"));
    assert!(svg.trim_end().ends_with("</svg>"));
    assert!(!svg.contains("http://www.w3.org/1999/xlink"));
}

#[test]
fn a_chart_without_points_is_drawn_empty() {
    let svg = Chart::default().to_svg();
    assert!(svg.starts_with("<svg"));
    assert!(!svg.contains("<circle"));
}

#[test]
fn the_same_chart_gives_the_same_bytes() {
    assert_eq!(chart().to_svg(), chart().to_svg());
}

/// Each mark leaves something in the file that the same chart without its points has not.
#[test]
fn every_mark_is_drawn() {
    let all = [
        Mark::Dots,
        Mark::Crosses,
        Mark::Rings,
        Mark::Triangles,
        Mark::Squares,
        Mark::Line,
        Mark::Dashed,
        Mark::Steps,
        Mark::Strokes,
        Mark::Bars,
        Mark::Spans,
        Mark::Outlines,
        Mark::Threads,
    ];
    for mark in all {
        let points = vec![Point::at(1.0, 0.0).to(2.0), Point::at(3.0, 0.0).to(4.0)];
        let of = |points| Chart {
            y: Axis::rows(vec!["a row".into()]),
            series: vec![
                Series::new("ends", Mark::Dots, vec![Point::at(4.0, 0.0)]),
                Series::new("it", mark, points),
            ],
            ..Chart::default()
        };
        let [with, without] = [points, Vec::new()].map(|points| of(points).to_svg());
        assert!(with.len() > without.len(), "{mark:?}");
    }
}

#[test]
fn a_band_and_the_time_of_day_are_drawn() {
    let mut chart = chart();
    let without = chart.to_svg();
    chart.x.scale = Scale::Clock(3_600_000.0);
    chart.bands = vec![Band {
        from: 50.0,
        to: f64::MAX,
        name: "late".into(),
        tone: Tone::Bad,
    }];
    let svg = chart.to_svg();
    assert!(svg.matches("<rect").count() > without.matches("<rect").count());
    assert!(svg.contains("01:00:00.100"), "{svg}");
}

/// Ten times, or twice, as much is as far away everywhere, and what is not above 0 has no place.
#[test]
fn decades_and_doublings_are_equally_high() {
    equally_high(Scale::Decades, [0.0, 0.1, 1.0, 10.0, 100.0]);
    equally_high(Scale::Doublings, [0.0, 0.5, 1.0, 2.0, 4.0]);
}

fn equally_high(scale: Scale, values: [f64; 5]) {
    let points = values.map(|y| Point::at(y, y)).into();
    let mut chart = Chart {
        series: vec![Series::new("p99", Mark::Dots, points)],
        ..Chart::default()
    };
    chart.y.scale = scale;
    let svg = chart.to_svg();
    let heights: Vec<i32> = svg
        .split("<circle")
        .skip(1)
        .filter_map(|it| it.split("cy=\"").nth(1)?.split('"').next()?.parse().ok())
        .collect();
    assert_eq!(heights.len(), 4, "{svg}");
    let steps: Vec<i32> = heights.windows(2).map(|two| two[0] - two[1]).collect();
    assert!(
        steps.iter().all(|it| (it - steps[0]).abs() <= 1),
        "{steps:?}"
    );
    for named in [values[1], values[4]] {
        assert!(svg.contains(&format!(">\n{named}\n<")), "{svg}");
    }
}

/// A level line stands where a point of its value stands; one that rises has no place on a scale of factors.
#[test]
fn a_scale_of_factors_keeps_level_lines() {
    let line = |slope| Line {
        name: "no difference".into(),
        at_zero: 1.0,
        slope,
        dashed: true,
    };
    let of = |slope| {
        let mut chart = chart();
        chart.y.scale = Scale::Doublings;
        chart.lines = vec![line(slope)];
        chart.to_svg()
    };
    assert!(of(0.0).contains("no difference"));
    assert!(!of(0.1).contains("no difference"));
}

/// A series that is like another one has its colour, and no name of its own.
#[test]
fn a_series_may_have_the_colour_of_another() {
    let of = |like| {
        let mut chart = chart();
        chart.series[1].like = like;
        chart.to_svg_with_names()
    };
    let (own, same) = (of(None), of(Some(0)));
    let colours = |svg: &str| svg.matches("#C44E0A").count();
    assert!(colours(&own) > 0, "{own}");
    assert_eq!(colours(&same), 0);
    assert!(own.contains("delayed") && !same.contains("delayed"));
}

#[test]
fn names_stand_beside_a_drawing_where_they_are_asked_for() {
    assert!(!chart().to_svg().contains("in time"));
    assert!(chart().to_svg_with_names().contains("in time"));
}

#[test]
fn a_line_hides_no_mark_and_what_has_a_tone_lies_on_top() {
    let bar = Point::at(1.0, 0.0).to(2.0);
    let steps = vec![Point::at(0.0, 0.0), Point::at(1.0, 2.0)];
    let held = Series::new("held", Mark::Bars, vec![bar.clone()]).toned(Tone::Bad);
    let data = Series::new("data", Mark::Bars, vec![bar]);
    let acked = Series::new("acknowledged", Mark::Steps, steps);
    let svg = Chart {
        series: vec![held, data, acked],
        ..Chart::default()
    }
    .to_svg();
    let place = |drawn: &str| svg.find(drawn).expect(drawn);
    let held = place("stroke=\"#B3261E\" stroke-width=\"5\"");
    let data = place("stroke=\"#C44E0A\" stroke-width=\"3\"");
    let acked = place("stroke=\"#1C2028\" stroke-width=\"2\"");
    assert!(acked < data && data < held, "{svg}");
}

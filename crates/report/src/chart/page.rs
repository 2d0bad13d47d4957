//! A chart on a page: the data that `page/chart.js` draws.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use super::{Axis, Band, Chart, Choice, Ladder, Line, Mark, Point, Series};
use crate::markup::escaped;
use crate::table::Tone;

/// The data that the script reads. Series over the same places share one list of x.
#[derive(Serialize)]
struct Data<'a> {
    x: &'a Axis,
    y: &'a Axis,
    lines: &'a [Line],
    bands: &'a [Band],
    above: &'a str,
    choice: Option<&'a Choice>,
    xs: Vec<Vec<Number>>,
    series: Vec<DataSeries<'a>>,
}

#[derive(Serialize)]
struct DataSeries<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    keys: &'a [String],
    mark: Mark,
    #[serde(serialize_with = "tone")]
    tone: Tone,
    /// The index of its list of x.
    x: usize,
    y: Vec<Number>,
    /// Empty if the mark has no ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    end: Vec<Number>,
    /// Empty if no point has such a text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    said: Vec<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ladders: &'a [(usize, Ladder)],
}

impl Chart {
    pub(crate) fn to_html(&self) -> String {
        let data = serde_json::to_string(&self.data()).expect("charts serialise as JSON");
        // Only an end tag could end a script element.
        let data = data.replace("</", "<\\/");
        let title = escaped(&self.title);
        let caption = match (self.title.as_str(), &self.choice) {
            // The fields above the chart show the choice.
            ("", _) | (_, Some(_)) => String::new(),
            _ => format!("<figcaption>{title}</figcaption>\n"),
        };
        let subtitle = match self.subtitle.as_str() {
            "" => String::new(),
            text => format!("<p class=\"note\">{}</p>\n", escaped(text)),
        };
        format!(
            "<figure class=\"plot\" aria-label=\"{title}\">\n{caption}{subtitle}\
             <noscript><p class=\"note\">The chart needs scripts; the tables do not.</p></noscript>\n\
             <script type=\"application/json\">{data}</script>\n</figure>\n"
        )
    }

    fn data(&self) -> Data<'_> {
        let mut xs: Vec<Vec<Number>> = Vec::new();
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let series = self.series.iter().map(|series| {
            let places: Vec<f64> = series.points.iter().map(|it| it.x).collect();
            let bits = places.iter().map(|x| x.to_bits()).collect();
            let x = *known.entry(bits).or_insert_with(|| {
                xs.push(places.into_iter().map(Number).collect());
                xs.len() - 1
            });
            DataSeries::of(series, x)
        });
        let series = series.collect();
        Data {
            x: &self.x,
            y: &self.y,
            lines: &self.lines,
            bands: &self.bands,
            above: &self.above,
            choice: self.choice.as_ref(),
            xs,
            series,
        }
    }
}

impl<'a> DataSeries<'a> {
    fn of(series: &'a Series, x: usize) -> Self {
        let numbers = |of: fn(&Point) -> f64| series.points.iter().map(of).map(Number).collect();
        let speaks = series.points.iter().any(|it| !it.said.is_empty());
        Self {
            name: &series.name,
            id: &series.id,
            keys: &series.keys,
            mark: series.mark,
            tone: series.tone,
            x,
            y: numbers(|it| it.y),
            end: match series.mark.is_tall() || series.mark.is_wide() {
                true => numbers(|it| it.end),
                false => Vec::new(),
            },
            said: match speaks {
                true => series.points.iter().map(|it| it.said.as_str()).collect(),
                false => Vec::new(),
            },
            ladders: &series.ladders,
        }
    }
}

/// A number with at most six decimals: more than anybody can see, and pages stay small.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = (self.0 * 1e6).round() / 1e6;
        match rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            true => serializer.serialize_i64(rounded as i64),
            false => serializer.serialize_f64(rounded),
        }
    }
}

/// Writes a tone under the style sheet's name of its colour.
pub(super) fn tone<S: Serializer>(tone: &Tone, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(tone.name())
}

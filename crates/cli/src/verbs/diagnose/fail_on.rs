//! `--fail-on 'stalls>0'`: a condition on the summary, for scripts.

use std::str::FromStr;

use tinygram_diagnose::{Kind, Summary};

/// A field, a comparison and a number.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    field: Field,
    comparison: Comparison,
    limit: f64,
    text: String,
}

#[derive(Clone, Copy, Debug)]
enum Field {
    Stalls,
    CostMs,
    Floods,
    Findings,
    Connections,
    Kind(Kind),
}

#[derive(Clone, Copy, Debug)]
enum Comparison {
    More,
    AtLeast,
    Less,
    AtMost,
    Equal,
    Unequal,
}

impl Condition {
    /// Returns whether the condition holds for captures whose summaries add up to `total`;
    /// `of_kind` returns the number of findings of a kind.
    pub(super) fn holds(&self, total: &Summary, of_kind: impl Fn(Kind) -> usize) -> bool {
        let value = self.field.value(total, of_kind);
        match self.comparison {
            Comparison::More => value > self.limit,
            Comparison::AtLeast => value >= self.limit,
            Comparison::Less => value < self.limit,
            Comparison::AtMost => value <= self.limit,
            Comparison::Equal => value == self.limit,
            Comparison::Unequal => value != self.limit,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl Field {
    fn value(self, total: &Summary, of_kind: impl Fn(Kind) -> usize) -> f64 {
        match self {
            Self::Stalls => total.stalls as f64,
            Self::CostMs => total.cost_ns as f64 / 1e6,
            Self::Floods => total.floods as f64,
            Self::Findings => (total.stalls + total.floods) as f64,
            Self::Connections => f64::from(total.connections),
            Self::Kind(kind) => of_kind(kind) as f64,
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "stalls" => Self::Stalls,
            "cost_ms" => Self::CostMs,
            "floods" => Self::Floods,
            "findings" => Self::Findings,
            "connections" => Self::Connections,
            _ => Self::Kind(Kind::ALL.into_iter().find(|k| k.name() == name)?),
        })
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = text
            .find(['<', '>', '=', '!'])
            .ok_or("no comparison in it (accepted: > >= < <= == !=)")?;
        let (name, rest) = text.split_at(at);
        let operators = [
            (">=", Comparison::AtLeast),
            ("<=", Comparison::AtMost),
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            (">", Comparison::More),
            ("<", Comparison::Less),
            ("=", Comparison::Equal),
        ];
        let (comparison, limit) = operators
            .into_iter()
            .find_map(|(sign, c)| rest.strip_prefix(sign).map(|limit| (c, limit.trim())))
            .ok_or("no such comparison (accepted: > >= < <= == !=)")?;
        let field = Field::named(name.trim()).ok_or_else(|| {
            let kinds: Vec<_> = Kind::ALL.iter().map(|k| k.name()).collect();
            format!(
                "no field {:?} (accepted: stalls, cost_ms, floods, findings, connections, {})",
                name.trim(),
                kinds.join(", ")
            )
        })?;
        let limit: f64 = limit
            .parse()
            .ok()
            .filter(|l: &f64| l.is_finite())
            .ok_or_else(|| format!("{limit:?} is no number"))?;
        Ok(Self {
            field,
            comparison,
            limit,
            text: text.to_owned(),
        })
    }
}

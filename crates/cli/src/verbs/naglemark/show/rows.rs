//! `--format parquet|arrow`: a cell as a row of book/src/reference/tables.md.

use tinygram_tables::Value;

use super::Record;

pub(in super::super) fn row(cell: &Record) -> [(&'static str, Value); 18] {
    [
        ("table", cell.table.into()),
        ("backend", cell.backend.as_str().into()),
        ("medium", cell.medium.as_str().into()),
        ("variant", cell.variant.as_str().into()),
        ("app_buffer", cell.app_buffer.into()),
        ("socket_buffer", cell.socket_buffer.into()),
        ("trial", cell.trial.to_string().into()),
        ("score_percent", cell.score_percent.into()),
        ("score_sd", cell.score_sd.into()),
        ("segments_per_transfer", cell.segments_per_transfer.into()),
        (
            "short_segments_per_transfer",
            cell.short_segments_per_transfer.into(),
        ),
        ("mean_elapsed_ms", cell.mean_elapsed_ms.into()),
        ("p99_elapsed_ms", cell.p99_elapsed_ms.into()),
        ("slope_ns_per_byte", cell.slope_ns_per_byte.into()),
        ("segments_over_fewest", cell.segments_over_fewest.into()),
        ("elapsed_over_earliest", cell.elapsed_over_earliest.into()),
        (
            "published_trial",
            cell.published_trial.map(String::from).into(),
        ),
        (
            "published_score_percent",
            cell.published_score_percent.into(),
        ),
    ]
}

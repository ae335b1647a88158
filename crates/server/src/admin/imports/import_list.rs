//! The list of an import's items and their results, as a file for spreadsheets.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use memory::identifiers::ImportId;

use crate::auth::Admin;
use crate::extract::Id;
use crate::problem::Problem;
use crate::state::App;

/// Maximum rows of skipped items. Common spreadsheets open no longer list; its last row says how many are left out.
const SKIPS_MAX: u32 = 1_000_000;

/// Handler of `GET /api/admin/imports/{id}/list.csv`: columns `kind`, `count`, `place`, `reason`. First a row for
/// each count, then a row for each skipped item.
pub(crate) async fn save(
    State(app): State<App>,
    Admin(_): Admin,
    Id(id): Id<ImportId>,
) -> Result<Response, Problem> {
    let run = app.runtime().imports().find(id).await?.run;
    let mut list = "kind,count,place,reason\r\n".to_owned();
    if let Some(run) = run {
        for (kind, count) in [
            ("found", run.found),
            ("recorded", run.recorded),
            ("documents", run.documents),
            ("already there", run.already_there),
            ("proposed", run.proposed),
            ("skipped", run.skipped),
            ("undated", run.undated),
        ] {
            _ = write!(list, "{kind},{count},,\r\n");
        }
        let (skips, _) = app.runtime().imports().run_outcome(id, SKIPS_MAX).await?;
        let left_out = run.skipped.saturating_sub(skips.len() as u64);
        for skip in skips {
            _ = write!(list, "skipped thing,1,{},{}\r\n", csv_cell(&skip.place), csv_cell(&skip.reason));
        }
        if left_out > 0 {
            _ = write!(list, "skipped item,{left_out},,not listed\r\n");
        }
    }
    let disposition = format!("attachment; filename=\"import-{id}.csv\"");
    let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, disposition)];
    Ok((headers, list).into_response())
}

/// A text as a cell. Text that begins like a formula is escaped, because spreadsheets would run it.
fn csv_cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_are_no_formulas() {
        assert_eq!(csv_cell("chat.json, element 3"), "\"chat.json, element 3\"");
        assert_eq!(csv_cell("a \"b\"\nc"), "\"a \"\"b\"\"\nc\"");
        assert_eq!(csv_cell("=1+1"), "\"'=1+1\"");
    }
}

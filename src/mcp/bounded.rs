//! Answers that fit into what a client reads at once.

use serde_json::{Value, json};

/// Leaves rows out until the answer has at most `most_bytes` bytes as compact JSON; the longest tables become shorter. How many
/// rows are missing is said in `left_out`.
pub(super) fn bounded(mut answer: Value, most_bytes: usize) -> Value {
    let mut left_out = 0;
    while answer.to_string().len() > most_bytes {
        let longest =
            tables(&mut answer).into_iter().max_by_key(|rows| bytes(rows)).filter(|rows| !rows.is_empty());
        let Some(rows) = longest else { break };
        // The last ones: rows come in falling order of what matters.
        let kept = rows.len() / 2;
        left_out += rows.len() - kept;
        rows.truncate(kept);
        answer["left_out"] = json!({
            "rows": left_out,
            "why": "the answer would be too long; ask for fewer rows, for less of the trace, or in SQL for the columns that matter",
        });
    }
    answer
}

fn bytes(rows: &[Value]) -> usize {
    rows.iter().map(|row| row.to_string().len()).sum()
}

/// The lists of rows in an answer.
fn tables(answer: &mut Value) -> Vec<&mut Vec<Value>> {
    let Value::Object(answer) = answer else { return Vec::new() };
    let mut found = Vec::new();
    for (key, value) in answer.iter_mut() {
        match (key.as_str(), value) {
            ("rows" | "files", Value::Array(rows)) => found.push(rows),
            ("tables", Value::Array(tables)) => {
                found.extend(tables.iter_mut().filter_map(|table| table.get_mut("rows")?.as_array_mut()));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_table_loses_its_last_rows_and_that_is_said() {
        let rows =
            |count: usize| (0..count).map(|row| json!({ "row": row, "name": "x".repeat(50) })).collect::<Vec<_>>();
        let answer = json!({ "schema": "s", "notes": [], "tables": [
            { "name": "short", "rows": rows(3) },
            { "name": "long", "rows": rows(100) },
        ] });
        assert_eq!(bounded(answer.clone(), 1 << 20), answer);
        let short = bounded(answer, 2500);
        assert!(short.to_string().len() <= 2500);
        assert_eq!(short["tables"][0]["rows"].as_array().map(Vec::len), Some(3));
        assert_eq!(short["tables"][1]["rows"], json!(rows(25)));
        assert_eq!(short["left_out"]["rows"], 75);
    }

    #[test]
    fn what_has_no_rows_stays_as_it_is() {
        let answer = json!({ "text": "x".repeat(100) });
        assert_eq!(bounded(answer.clone(), 10), answer);
    }
}

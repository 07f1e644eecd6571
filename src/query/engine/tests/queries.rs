//! Queries at random: for each, our words and SQLite's. They differ where NULLs stand in ORDER BY.

use super::Random;

/// A query, and the same for SQLite.
pub fn random(random: &mut Random) -> (String, String) {
    let sql = query(random);
    let for_sqlite = with_null_order(&sql);
    (sql, for_sqlite)
}

/// A number, `deep` levels deep; columns are written with `of` before them.
fn number(random: &mut Random, of: &str, deep: u32) -> String {
    if deep == 0 {
        return match random.below(6) {
            0 => random.below(30).to_string(),
            _ => format!("{of}{}", random.pick(&["id", "a", "b", "x", "f"])),
        };
    }
    let deep = deep - 1;
    match random.below(9) {
        0 => format!("({} + {})", number(random, of, deep), number(random, of, deep)),
        1 => format!("({} - {})", number(random, of, deep), number(random, of, deep)),
        2 => format!("({} * 3)", number(random, of, deep)),
        3 => format!("COALESCE({}, 7)", number(random, of, deep)),
        4 => {
            let condition = condition(random, of, deep);
            format!("CASE WHEN {condition} THEN {} ELSE {} END", number(random, of, deep), number(random, of, deep))
        }
        5 => format!("NULLIF({}, 3)", number(random, of, deep)),
        6 => format!("LENGTH({of}t)"),
        7 => format!("ABS({})", number(random, of, deep)),
        _ => number(random, of, 0),
    }
}

fn text(random: &mut Random, of: &str) -> String {
    match random.below(6) {
        0 => format!("UPPER({of}s)"),
        1 => format!("SUBSTR({of}s, 2, 3)"),
        2 => format!("({of}s || {of}t)"),
        3 => format!("REPLACE({of}t, 'w', 'q')"),
        4 => format!("{of}s"),
        _ => format!("{of}t"),
    }
}

fn condition(random: &mut Random, of: &str, deep: u32) -> String {
    if deep == 0 {
        return match random.below(7) {
            0 => format!("{of}a > {}", random.below(4)),
            1 => format!("{of}s LIKE '{}'", random.pick(&["%a%", "%e%", "_e%", "gemm", "%"])),
            2 => format!("{of}b BETWEEN 0 AND 5"),
            3 => format!("{of}s IN ('gemm', 'add')"),
            4 => format!("{of}x IS NULL"),
            5 => format!("{of}a NOT IN (1, 2)"),
            _ => format!("{of}f < {of}b"),
        };
    }
    let deep = deep - 1;
    match random.below(6) {
        0 => format!("({} AND {})", condition(random, of, deep), condition(random, of, deep)),
        1 => format!("({} OR {})", condition(random, of, deep), condition(random, of, deep)),
        2 => format!("(NOT {})", condition(random, of, deep)),
        3 => format!("({} <= {})", number(random, of, deep), number(random, of, deep)),
        4 => format!("({} = {})", text(random, of), text(random, of)),
        _ => condition(random, of, 0),
    }
}

fn aggregate(random: &mut Random, of: &str) -> String {
    let filter =
        if random.one_in(5) { format!(" FILTER (WHERE {})", condition(random, of, 0)) } else { String::new() };
    let call = match random.below(9) {
        0 => "COUNT(*)".to_owned(),
        1 => format!("SUM({})", number(random, of, 1)),
        2 => format!("MIN({})", number(random, of, 1)),
        3 => format!("MAX({of}s)"),
        4 => format!("AVG({})", number(random, of, 0)),
        5 => format!("COUNT(DISTINCT {of}s)"),
        6 => format!("SUM(DISTINCT {of}a)"),
        7 => format!("COUNT({of}a)"),
        _ => format!("MIN({})", text(random, of)),
    };
    call + &filter
}

fn window(random: &mut Random) -> String {
    // What depends on the order of equal rows is asked in an order without any.
    let unique = ["PARTITION BY t ORDER BY b, id", "ORDER BY s, id", "PARTITION BY a ORDER BY f DESC, id"];
    let frames = [
        "PARTITION BY t",
        "PARTITION BY t ORDER BY b",
        "ORDER BY s, id",
        "ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
        "ORDER BY b RANGE BETWEEN 3 PRECEDING AND CURRENT ROW",
        "PARTITION BY t ORDER BY b DESC RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING",
        "ORDER BY b GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
        "ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
        "ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
        "ORDER BY b, id ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING",
    ];
    let ranked = ["RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()"];
    let placed = [
        "ROW_NUMBER()",
        "LAG(id)",
        "LEAD(b, 2, 99)",
        "FIRST_VALUE(id)",
        "LAST_VALUE(s)",
        "NTH_VALUE(id, 2)",
        "NTILE(4)",
    ];
    match random.below(3) {
        0 => {
            format!("{} OVER ({})", random.pick(&ranked), random.pick(&["PARTITION BY t ORDER BY b", "ORDER BY s"]))
        }
        1 => format!("{} OVER ({})", random.pick(&placed), random.pick(&unique)),
        _ => {
            let call = match random.below(6) {
                0 => format!("SUM({})", number(random, "", 1)),
                1 => "COUNT(a)".to_owned(),
                2 => "MIN(f)".to_owned(),
                3 => "MAX(s)".to_owned(),
                4 => "AVG(b)".to_owned(),
                _ => "COUNT(*)".to_owned(),
            };
            format!("{call} OVER ({})", random.pick(&frames))
        }
    }
}

fn query(random: &mut Random) -> String {
    match random.below(15) {
        0 => format!(
            "SELECT {}, {}, {} FROM t1 WHERE {} ORDER BY id LIMIT {} OFFSET {}",
            number(random, "", 2),
            text(random, ""),
            condition(random, "", 2),
            condition(random, "", 2),
            random.below(30),
            random.below(4)
        ),
        1 => {
            let keys = random.pick(&["a", "s", "t", "a, t", "s, t", "b % 3"]);
            let having = random.pick(&["COUNT(*) > 2", "MAX(b) > 0", "SUM(a) IS NOT NULL", "1 = 1"]);
            format!(
                "SELECT {keys}, {}, {}, {} FROM t1 WHERE {} GROUP BY {keys} HAVING {having} ORDER BY {keys}",
                aggregate(random, ""),
                aggregate(random, ""),
                aggregate(random, ""),
                condition(random, "", 1)
            )
        }
        2 => {
            format!(
                "SELECT {}, {} FROM t1 WHERE {}",
                aggregate(random, ""),
                aggregate(random, ""),
                condition(random, "", 2)
            )
        }
        3 | 4 => {
            let join = random.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
            let side = random.pick(&["p.", "q."]);
            let on = condition(random, side, 0);
            let side = random.pick(&["p.", "q."]);
            let filter = if random.one_in(2) { "1 = 1".to_owned() } else { condition(random, side, 1) };
            format!(
                "SELECT p.id, q.id, {}, {} FROM t1 p {join} t2 q ON p.a = q.a AND {on} WHERE {filter} ORDER BY p.id, q.id",
                number(random, "p.", 1),
                text(random, "q.")
            )
        }
        5 => format!(
            "SELECT COUNT(*), SUM(p.id * 7 + q.id) FROM t1 p JOIN t2 q ON p.b >= q.b AND p.b < q.b + {} AND {}",
            random.below(6),
            condition(random, "q.", 0)
        ),
        6 => {
            let (value, column) = if random.one_in(3) { ("s", "s") } else { ("a", "a") };
            format!(
                "SELECT id, {} FROM t1 WHERE {value} {} (SELECT {column} FROM t2 WHERE {}) ORDER BY id",
                number(random, "", 1),
                random.pick(&["IN", "NOT IN"]),
                condition(random, "", 1)
            )
        }
        7 => format!(
            "SELECT p.id FROM t1 p WHERE {} EXISTS (SELECT 1 FROM t2 q WHERE {} AND {}) ORDER BY p.id",
            random.pick(&["", "NOT"]),
            random.pick(&["q.a = p.a", "q.s = p.s AND q.a = p.a", "q.b > p.b", "q.a = p.a AND q.b > p.b"]),
            condition(random, "q.", 1)
        ),
        8 => format!(
            "SELECT p.id, (SELECT {} FROM t2 q WHERE {} AND {}) FROM t1 p ORDER BY p.id",
            aggregate(random, "q."),
            random.pick(&["q.a = p.a", "q.t = p.t", "q.b < p.b", "1 = 1", "q.a = p.a + 1"]),
            condition(random, "q.", 0)
        ),
        9 => format!("SELECT id, {} FROM t1 WHERE {} ORDER BY id", window(random), condition(random, "", 0)),
        10 => format!(
            "SELECT a, t FROM t1 WHERE {} {} SELECT a, t FROM t2 WHERE {} ORDER BY 1, 2",
            condition(random, "", 0),
            random.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]),
            condition(random, "", 0)
        ),
        11 => {
            format!(
                "SELECT DISTINCT a, {} AS z FROM t1 WHERE {} ORDER BY a, z",
                text(random, ""),
                condition(random, "", 0)
            )
        }
        12 => format!(
            "WITH u AS (SELECT t, SUM(b) AS n FROM t1 WHERE {} GROUP BY t), v AS (SELECT t, n FROM u WHERE n > -20) SELECT \
             p.t, p.n, COUNT(q.id) FROM v p LEFT JOIN t2 q ON q.t = p.t AND {} GROUP BY p.t, p.n ORDER BY p.t",
            condition(random, "", 0),
            condition(random, "q.", 0)
        ),
        13 => format!(
            "SELECT p.id, q.id, r.id FROM t1 p, t2 q, t1 r WHERE p.a = q.a AND q.b = r.b AND r.id < 20 AND {} ORDER BY p.id, \
             q.id, r.id",
            condition(random, "p.", 0)
        ),
        _ => format!(
            "SELECT t, COUNT(*) AS n FROM (SELECT t, a, MAX(b) AS m FROM t1 GROUP BY t, a) AS i WHERE m > {} GROUP BY t ORDER \
             BY n DESC, t",
            random.below(5)
        ),
    }
}

/// The query with the place of NULLs said in every ORDER BY: SQLite's own choice is another one than ours.
fn with_null_order(sql: &str) -> String {
    let mut out = String::new();
    let mut rest = sql;
    while let Some(at) = rest.find("ORDER BY ") {
        let (before, keys) = rest.split_at(at + "ORDER BY ".len());
        out.push_str(before);
        let end = end_of_keys(keys);
        let said: Vec<String> = split_at_commas(&keys[..end])
            .into_iter()
            .map(|key| format!("{key} NULLS {}", if key.ends_with(" DESC") { "FIRST" } else { "LAST" }))
            .collect();
        out.push_str(&said.join(","));
        rest = &keys[end..];
    }
    out + rest
}

/// Where the list behind ORDER BY ends.
fn end_of_keys(keys: &str) -> usize {
    let mut depth = 0;
    for (i, letter) in keys.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return i,
            ')' => depth -= 1,
            _ if depth == 0
                && [" LIMIT", " ROWS", " RANGE", " GROUPS"].iter().any(|w| keys[i..].starts_with(w)) =>
            {
                return i;
            }
            _ => {}
        }
    }
    keys.len()
}

fn split_at_commas(list: &str) -> Vec<&str> {
    let (mut out, mut depth, mut from) = (Vec::new(), 0, 0);
    for (i, letter) in list.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(&list[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    out.push(&list[from..]);
    out
}

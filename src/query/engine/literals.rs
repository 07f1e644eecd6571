//! What a query writes out: constants, and the types that CAST names.

use super::column::{Column, SqlType, Value};
use super::problem::{Problem, Result};
use sqlparser::ast::{DataType, Value as Literal};

/// A constant of the query.
///
/// # Errors
/// Fails if the number does not fit into 64 bits, or if no column can hold such a constant.
pub fn literal(value: &Literal) -> Result<Column> {
    Ok(Column::constant(match value {
        Literal::Number(digits, _) => return number(digits),
        Literal::Boolean(value) => Value::Bool(*value),
        Literal::Null => Value::Null,
        Literal::SingleQuotedString(text)
        | Literal::DoubleQuotedString(text)
        | Literal::EscapedStringLiteral(text)
        | Literal::UnicodeStringLiteral(text)
        | Literal::NationalStringLiteral(text)
        | Literal::TripleSingleQuotedString(text)
        | Literal::SingleQuotedRawStringLiteral(text) => Value::Text(text.clone()),
        Literal::DollarQuotedString(text) => Value::Text(text.value.clone()),
        Literal::HexStringLiteral(digits) => match i64::from_str_radix(digits, 16) {
            Ok(value) => Value::Int(value),
            Err(_) => return Err(Problem::TooLarge(format!("0x{digits}"))),
        },
        Literal::Placeholder(name) => {
            return Problem::wrong(format!("{name} is a placeholder; write the value itself"));
        }
        other => return Problem::unsupported(short(&other.to_string())),
    }))
}

/// A number as it is written.
///
/// # Errors
/// Fails if the number does not fit into 64 bits.
pub fn number(digits: &str) -> Result<Column> {
    let value = if let Ok(value) = digits.parse::<i64>() {
        Value::Int(value)
    } else if let Ok(value) = digits.parse::<u64>() {
        Value::Wide(value)
    } else {
        match digits.parse::<f64>() {
            Ok(value) if value.is_finite() => Value::Float(value),
            _ => return Err(Problem::TooLarge(digits.to_owned())),
        }
    };
    Ok(Column::constant(value))
}

/// The kind that CAST names.
///
/// # Errors
/// Fails if no column can have this type.
pub fn type_of(data_type: &DataType) -> Result<SqlType> {
    use DataType as T;
    Ok(match data_type {
        T::TinyInt(_)
        | T::SmallInt(_)
        | T::MediumInt(_)
        | T::Int(_)
        | T::Integer(_)
        | T::BigInt(_)
        | T::Int2(_) => SqlType::Int,
        T::Int4(_) | T::Int8(_) | T::Int16 | T::Int32 | T::Int64 | T::Signed | T::SignedInteger => SqlType::Int,
        T::UTinyInt | T::USmallInt | T::UInt8 | T::UInt16 | T::UInt32 => SqlType::Id,
        T::TinyIntUnsigned(_) | T::SmallIntUnsigned(_) | T::IntUnsigned(_) | T::IntegerUnsigned(_) => SqlType::Id,
        T::UBigInt | T::UInt64 | T::BigIntUnsigned(_) | T::Unsigned | T::UnsignedInteger => SqlType::Id64,
        T::Float(_)
        | T::Float4
        | T::Float8
        | T::Float32
        | T::Float64
        | T::Real
        | T::Double(_)
        | T::DoublePrecision => SqlType::Float,
        T::Numeric(_) | T::Decimal(_) | T::Dec(_) => SqlType::Float,
        T::Bool | T::Boolean => SqlType::Bool,
        T::Text | T::String(_) | T::Varchar(_) | T::Char(_) | T::Character(_) | T::CharacterVarying(_) => {
            SqlType::Text
        }
        T::CharVarying(_) | T::Nvarchar(_) | T::TinyText | T::MediumText | T::LongText | T::Clob(_) => {
            SqlType::Text
        }
        T::Custom(name, _) => match name.to_string().to_uppercase().as_str() {
            "U8" | "U16" | "U32" | "UINTEGER" => SqlType::Id,
            "U64" => SqlType::Id64,
            "I8" | "I16" | "I32" | "I64" | "LONG" => SqlType::Int,
            "F32" | "F64" => SqlType::Float,
            _ => return Problem::unsupported(format!("CAST to {name}")),
        },
        other => return Problem::unsupported(format!("CAST to {other}")),
    })
}

/// A piece of a query as it stands in messages.
pub fn short(text: &str) -> String {
    let mut out: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
    if text.chars().count() > 60 {
        out.push('…');
    }
    out
}

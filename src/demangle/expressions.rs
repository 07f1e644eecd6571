//! Expressions and literals of mangled names (Itanium C++ ABI, section 5.1.6).

use super::node::{Node, NodeId, Piece};
use super::parse::{Invalid, Parsed, Parser};

impl Parser<'_> {
    pub(super) fn sequence_around(&mut self, before: &'static str, inner: NodeId, after: &'static str) -> NodeId {
        self.tree.add(Node::Sequence(vec![Piece::Text(before), Piece::Node(inner), Piece::Text(after)]))
    }

    pub(super) fn sequence_list(&mut self, before: &'static str, list: Vec<NodeId>, after: &'static str) -> NodeId {
        self.tree.add(Node::Sequence(vec![Piece::Text(before), Piece::List(list), Piece::Text(after)]))
    }

    /// `<expression>`.
    pub(super) fn expression(&mut self) -> Parsed<NodeId> {
        self.deeper(Self::expression_inner)
    }

    fn expression_inner(&mut self) -> Parsed<NodeId> {
        match self.peek() {
            b'L' => return self.literal(),
            b'T' => return self.template_param(),
            b'f' if self.peek_at(1) == b'p' || (self.peek_at(1) == b'L' && self.peek_at(2).is_ascii_digit()) => {
                return self.function_param();
            }
            b'f' if matches!(self.peek_at(1), b'l' | b'r' | b'L' | b'R') => return self.fold(),
            b'0'..=b'9' => return self.unresolved_simple(),
            b'o' if self.peek_at(1) == b'n' => return self.unresolved_simple(),
            b'u' => {
                self.at += 1;
                let name = self.source_name()?;
                let args = self.template_args_until_end()?;
                return Ok(self.tree.add(Node::Sequence(vec![
                    Piece::Node(name),
                    Piece::Text("("),
                    Piece::List(args),
                    Piece::Text(")"),
                ])));
            }
            _ => {}
        }
        let global = self.eat(b"gs");
        let code = [self.peek(), self.peek_at(1)];
        if global && !matches!(&code, b"nw" | b"na" | b"dl" | b"da" | b"sr") {
            let name = self.unresolved_simple()?;
            return Ok(self.sequence_around("::", name, ""));
        }
        if let Some(id) = self.special_expression(code, global)? {
            return Ok(id);
        }
        let (operator, operands) = self.operator_spelling().ok_or(Invalid)?;
        self.at += 2;
        match operands {
            1 => {
                let operand = self.expression()?;
                let operator = match (global, operator) {
                    (true, "delete ") => "::delete ",
                    (true, "delete[] ") => "::delete[] ",
                    _ => operator,
                };
                Ok(self.tree.add(Node::Prefix { operator, operand }))
            }
            2 => {
                let left = self.expression()?;
                let right = self.expression()?;
                Ok(self.tree.add(Node::Binary { left, operator, right }))
            }
            _ => Err(Invalid),
        }
    }

    /// Expressions that are not an operator between operands; `None` when `code` starts none of them.
    fn special_expression(&mut self, code: [u8; 2], global: bool) -> Parsed<Option<NodeId>> {
        let pieces = match &code {
            b"cl" | b"cp" => {
                self.at += 2;
                let callee = self.expression()?;
                let args = self.expressions_until_end()?;
                vec![Piece::Operand(callee), Piece::Text("("), Piece::List(args), Piece::Text(")")]
            }
            b"cv" => {
                self.at += 2;
                let target = self.parse_type()?;
                let args = if self.eat(b"_") { self.expressions_until_end()? } else { vec![self.expression()?] };
                vec![Piece::Text("("), Piece::Node(target), Piece::Text(")("), Piece::List(args), Piece::Text(")")]
            }
            b"tl" | b"il" => {
                self.at += 2;
                let target = if code[0] == b't' { Some(self.parse_type()?) } else { None };
                let args = self.initializers_until_end()?;
                let mut pieces: Vec<Piece> = target.map(Piece::Node).into_iter().collect();
                pieces.extend([Piece::Text("{"), Piece::List(args), Piece::Text("}")]);
                pieces
            }
            b"nw" | b"na" => {
                self.at += 2;
                return self.new_expression(code[1] == b'a', global).map(Some);
            }
            b"dc" | b"sc" | b"cc" | b"rc" => {
                self.at += 2;
                let target = self.parse_type()?;
                let operand = self.expression()?;
                let cast = match code[0] {
                    b'd' => "dynamic_cast<",
                    b's' => "static_cast<",
                    b'c' => "const_cast<",
                    _ => "reinterpret_cast<",
                };
                vec![
                    Piece::Text(cast),
                    Piece::Node(target),
                    Piece::Text(">("),
                    Piece::Node(operand),
                    Piece::Text(")"),
                ]
            }
            b"ti" | b"st" | b"at" => {
                self.at += 2;
                let inner = self.parse_type()?;
                let word = match code[0] {
                    b't' => "typeid(",
                    b's' => "sizeof(",
                    _ => "alignof(",
                };
                vec![Piece::Text(word), Piece::Node(inner), Piece::Text(")")]
            }
            b"te" | b"sz" | b"az" | b"nx" => {
                self.at += 2;
                let inner = self.expression()?;
                let word = match code[0] {
                    b't' => "typeid(",
                    b's' => "sizeof(",
                    b'a' => "alignof(",
                    _ => "noexcept(",
                };
                vec![Piece::Text(word), Piece::Node(inner), Piece::Text(")")]
            }
            b"dt" | b"pt" => {
                self.at += 2;
                let object = self.expression()?;
                let member = self.expression()?;
                let dot = if code[0] == b'd' { "." } else { "->" };
                vec![Piece::Operand(object), Piece::Text(dot), Piece::Node(member)]
            }
            b"ix" => {
                self.at += 2;
                let object = self.expression()?;
                let index = self.expression()?;
                vec![Piece::Operand(object), Piece::Text("["), Piece::Node(index), Piece::Text("]")]
            }
            b"qu" => {
                self.at += 2;
                let condition = self.expression()?;
                let yes = self.expression()?;
                let no = self.expression()?;
                vec![
                    Piece::Operand(condition),
                    Piece::Text("?"),
                    Piece::Operand(yes),
                    Piece::Text(" : "),
                    Piece::Operand(no),
                ]
            }
            // `pp_` and `mm_` are the prefix forms.
            b"pp" | b"mm" => {
                self.at += 2;
                let operator = if code[0] == b'p' { "++" } else { "--" };
                if self.eat(b"_") {
                    let operand = self.expression()?;
                    return Ok(Some(self.tree.add(Node::Prefix { operator, operand })));
                }
                vec![Piece::Operand(self.expression()?), Piece::Text(operator)]
            }
            b"sp" => {
                self.at += 2;
                let pattern = self.expression()?;
                return Ok(Some(self.tree.add(Node::Expansion(pattern))));
            }
            b"sZ" => {
                self.at += 2;
                let pack = if self.peek() == b'T' { self.template_param()? } else { self.function_param()? };
                return Ok(Some(self.tree.add(Node::PackSize(pack))));
            }
            b"sP" => {
                self.at += 2;
                let mut args = Vec::new();
                while !self.eat(b"E") {
                    args.push(self.template_arg()?);
                }
                vec![Piece::Text("sizeof...("), Piece::List(args), Piece::Text(")")]
            }
            b"tw" => {
                self.at += 2;
                vec![Piece::Text("throw "), Piece::Node(self.expression()?)]
            }
            b"tr" => {
                self.at += 2;
                vec![Piece::Text("throw")]
            }
            b"rq" | b"rQ" => {
                self.at += 2;
                return self.requires_expression(code[1] == b'Q').map(Some);
            }
            b"sr" => {
                let name = self.unresolved_name()?;
                if !global {
                    return Ok(Some(name));
                }
                vec![Piece::Text("::"), Piece::Node(name)]
            }
            b"dn" => {
                self.at += 2;
                vec![Piece::Text("~"), Piece::Node(self.parse_type()?)]
            }
            _ => return Ok(None),
        };
        Ok(Some(self.tree.add(Node::Sequence(pieces))))
    }

    fn expressions_until_end(&mut self) -> Parsed<Vec<NodeId>> {
        let mut list = Vec::new();
        while !self.eat(b"E") {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    fn template_args_until_end(&mut self) -> Parsed<Vec<NodeId>> {
        let mut list = Vec::new();
        while !self.eat(b"E") {
            list.push(self.template_arg()?);
        }
        Ok(list)
    }

    /// Elements of a braced list, each possibly behind a designator (`di`, `dx`, `dX`).
    fn initializers_until_end(&mut self) -> Parsed<Vec<NodeId>> {
        let mut list = Vec::new();
        while !self.eat(b"E") {
            list.push(self.deeper(Self::initializer)?);
        }
        Ok(list)
    }

    fn initializer(&mut self) -> Parsed<NodeId> {
        let pieces = if self.eat(b"di") {
            let field = self.source_name()?;
            let value = self.deeper(Self::initializer)?;
            vec![Piece::Text("."), Piece::Node(field), Piece::Text(" = "), Piece::Node(value)]
        } else if self.eat(b"dx") {
            let index = self.expression()?;
            let value = self.deeper(Self::initializer)?;
            vec![Piece::Text("["), Piece::Node(index), Piece::Text("] = "), Piece::Node(value)]
        } else if self.eat(b"dX") {
            let first = self.expression()?;
            let last = self.expression()?;
            let value = self.deeper(Self::initializer)?;
            vec![
                Piece::Text("["),
                Piece::Node(first),
                Piece::Text(" ... "),
                Piece::Node(last),
                Piece::Text("] = "),
                Piece::Node(value),
            ]
        } else {
            return self.expression();
        };
        Ok(self.tree.add(Node::Sequence(pieces)))
    }

    fn new_expression(&mut self, array: bool, global: bool) -> Parsed<NodeId> {
        let mut placement = Vec::new();
        while !self.eat(b"_") {
            placement.push(self.expression()?);
        }
        let target = self.parse_type()?;
        let mut pieces = vec![Piece::Text(match (global, array) {
            (false, false) => "new ",
            (false, true) => "new[] ",
            (true, false) => "::new ",
            (true, true) => "::new[] ",
        })];
        if !placement.is_empty() {
            pieces.extend([Piece::Text("("), Piece::List(placement), Piece::Text(") ")]);
        }
        pieces.push(Piece::Node(target));
        if self.eat(b"pi") {
            let args = self.expressions_until_end()?;
            pieces.extend([Piece::Text("("), Piece::List(args), Piece::Text(")")]);
        } else if self.looking_at(b"il") {
            pieces.push(Piece::Node(self.expression()?));
        } else {
            self.expect(b"E")?;
        }
        Ok(self.tree.add(Node::Sequence(pieces)))
    }

    fn requires_expression(&mut self, has_params: bool) -> Parsed<NodeId> {
        let mut pieces = vec![Piece::Text("requires")];
        if has_params {
            let mut params = Vec::new();
            while !self.eat(b"_") {
                params.push(self.parse_type()?);
            }
            pieces.extend([Piece::Text("("), Piece::List(params), Piece::Text(")")]);
        }
        pieces.push(Piece::Text(" {"));
        while !self.eat(b"E") {
            match self.peek() {
                b'X' => {
                    self.at += 1;
                    let expression = self.expression()?;
                    pieces.extend([Piece::Text(" "), Piece::Node(expression)]);
                    if self.eat(b"N") {
                        pieces.push(Piece::Text(" noexcept"));
                    }
                    if self.eat(b"R") {
                        let constraint = self.class_name()?;
                        pieces.extend([Piece::Text(" -> "), Piece::Node(constraint)]);
                    }
                }
                b'T' => {
                    self.at += 1;
                    let wanted = self.parse_type()?;
                    pieces.extend([Piece::Text(" typename "), Piece::Node(wanted)]);
                }
                b'Q' => {
                    self.at += 1;
                    let constraint = self.expression()?;
                    pieces.extend([Piece::Text(" requires "), Piece::Node(constraint)]);
                }
                _ => return Err(Invalid),
            }
            pieces.push(Piece::Text(";"));
        }
        pieces.push(Piece::Text(" }"));
        Ok(self.tree.add(Node::Sequence(pieces)))
    }

    /// `fp_` and `fL0p_`: a parameter of the function whose type is being written.
    fn function_param(&mut self) -> Parsed<NodeId> {
        if self.eat(b"fpT") {
            return Ok(self.text("this"));
        }
        self.expect(b"f")?;
        if self.eat(b"L") {
            self.decimal()?;
        }
        self.expect(b"p")?;
        self.qualifiers();
        let number = self.counter()?.saturating_add(1);
        Ok(self.tree.add(Node::Text(format!("{{parm#{number}}}").into())))
    }

    /// Fold expressions: `fl`, `fr` unary, `fL`, `fR` binary.
    fn fold(&mut self) -> Parsed<NodeId> {
        let kind = self.peek_at(1);
        self.at += 2;
        let (operator, _) = self.operator_spelling().ok_or(Invalid)?;
        self.at += 2;
        let first = self.expression()?;
        let pieces = match kind {
            b'l' => vec![Piece::Text("(..."), Piece::Text(operator), Piece::Operand(first), Piece::Text(")")],
            b'r' => vec![Piece::Text("("), Piece::Operand(first), Piece::Text(operator), Piece::Text("...)")],
            _ => {
                let second = self.expression()?;
                vec![
                    Piece::Text("("),
                    Piece::Operand(first),
                    Piece::Text(operator),
                    Piece::Text("..."),
                    Piece::Text(operator),
                    Piece::Operand(second),
                    Piece::Text(")"),
                ]
            }
        };
        Ok(self.tree.add(Node::Sequence(pieces)))
    }

    /// `<base-unresolved-name>`: an identifier, operator or destructor name that lookup has not resolved.
    fn unresolved_simple(&mut self) -> Parsed<NodeId> {
        let name = if self.eat(b"on") {
            self.unresolved_operator()?
        } else if self.eat(b"dn") {
            let class = if self.peek().is_ascii_digit() { self.unresolved_simple()? } else { self.parse_type()? };
            return Ok(self.sequence_around("~", class, ""));
        } else {
            let name = self.source_name()?;
            self.abi_tags(name)?
        };
        if self.peek() != b'I' {
            return Ok(name);
        }
        let args = self.template_args()?;
        Ok(self.tree.add(Node::Template { name, args }))
    }

    fn unresolved_operator(&mut self) -> Parsed<NodeId> {
        if self.eat(b"cv") {
            let target = self.parse_type()?;
            return Ok(self.tree.add(Node::Conversion(target)));
        }
        let (spelling, _) = self.operator_spelling().ok_or(Invalid)?;
        self.at += 2;
        let space = if spelling.starts_with(|c: char| c.is_ascii_alphabetic()) { " " } else { "" };
        Ok(self.tree.add(Node::Text(format!("operator{space}{}", spelling.trim_end()).into())))
    }

    /// `sr ...`: a member of a type that is still unknown where the expression was written.
    ///
    /// Old GCC writes any type and one name; the ABI wants `N` and `E` around a list of levels, or `E` behind it.
    fn unresolved_name(&mut self) -> Parsed<NodeId> {
        self.expect(b"sr")?;
        let (start, substitutions) = (self.at, self.substitutions.len());
        let old_form = self.parse_type().and_then(|scope| {
            let name = self.unresolved_simple()?;
            Ok(self.tree.add(Node::Nested { scope, name }))
        });
        if old_form.is_ok() {
            return old_form;
        }
        self.at = start;
        self.substitutions.truncate(substitutions);
        let mut scope = if self.eat(b"N") {
            let scope = self.parse_type()?;
            let level = self.unresolved_simple()?;
            self.tree.add(Node::Nested { scope, name: level })
        } else {
            self.unresolved_simple()?
        };
        while !self.eat(b"E") {
            let name = self.unresolved_simple()?;
            scope = self.tree.add(Node::Nested { scope, name });
        }
        let name = self.unresolved_simple()?;
        Ok(self.tree.add(Node::Nested { scope, name }))
    }

    /// `<expr-primary>`: `L type value E`, or the name of a function or object.
    pub(super) fn literal(&mut self) -> Parsed<NodeId> {
        self.expect(b"L")?;
        if self.eat(b"_Z") || (self.peek() == b'Z' && self.eat(b"Z")) {
            let inner = self.encoding()?;
            self.expect(b"E")?;
            return Ok(inner);
        }
        let kind = self.parse_type()?;
        let negative = self.eat(b"n");
        let start = self.at;
        // Digits, or the bytes of a floating point value in hexadecimal; complex numbers have a `_` in between.
        while self.peek().is_ascii_digit() || matches!(self.peek(), b'a'..=b'f' | b'_') {
            self.at += 1;
        }
        let digits = String::from_utf8_lossy(&self.input[start..self.at]).into_owned();
        self.expect(b"E")?;
        let value = if digits.is_empty() {
            // A string literal or a closure has no value in the mangling; `LDnE` is the null pointer.
            String::new()
        } else {
            format!("{}{digits}", if negative { "-" } else { "" })
        };
        Ok(self.tree.add(Node::Literal { kind, value }))
    }
}

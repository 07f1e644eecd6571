//! Special names: tables, thunks, guards and the like (Itanium C++ ABI, section 5.1.4).

use super::node::{Node, NodeId};
use super::parse::{Invalid, Parsed, Parser};

impl Parser<'_> {
    /// `<special-name>`: tables, thunks, guards and the like.
    pub(super) fn special_name(&mut self) -> Parsed<NodeId> {
        let code = [self.peek(), self.peek_at(1)];
        self.at += 2;
        let type_prefix = match &code {
            b"TV" => Some("vtable for "),
            b"TT" => Some("VTT for "),
            b"TI" => Some("typeinfo for "),
            b"TS" => Some("typeinfo name for "),
            _ => None,
        };
        if let Some(prefix) = type_prefix {
            let inner = self.parse_type()?;
            return Ok(self.tree.add(Node::Special { prefix, inner }));
        }
        let prefix = match &code {
            b"Th" | b"Tv" => {
                self.at -= 1;
                self.call_offset()?;
                let prefix = if code[1] == b'h' { "non-virtual thunk to " } else { "virtual thunk to " };
                let inner = self.encoding()?;
                return Ok(self.tree.add(Node::Special { prefix, inner }));
            }
            b"Tc" => {
                self.call_offset()?;
                self.call_offset()?;
                let inner = self.encoding()?;
                return Ok(self.tree.add(Node::Special { prefix: "covariant return thunk to ", inner }));
            }
            b"TC" => {
                let derived = self.parse_type()?;
                self.decimal()?;
                self.expect(b"_")?;
                let base = self.parse_type()?;
                return Ok(self.tree.add(Node::ConstructionTable { derived, base }));
            }
            b"TA" => {
                let inner = self.template_arg()?;
                return Ok(self.tree.add(Node::Special { prefix: "template parameter object for ", inner }));
            }
            b"GT" => {
                let prefix = match self.peek() {
                    b'n' => "non-transaction clone for ",
                    _ => "transaction clone for ",
                };
                self.at += 1;
                let inner = self.encoding()?;
                return Ok(self.tree.add(Node::Special { prefix, inner }));
            }
            b"GA" => {
                let inner = self.encoding()?;
                return Ok(self.tree.add(Node::Special { prefix: "hidden alias for ", inner }));
            }
            b"TH" => "TLS init function for ",
            b"TW" => "TLS wrapper function for ",
            b"GV" => "guard variable for ",
            b"GR" => {
                let inner = self.class_name()?;
                // The counter is missing for the first temporary in old compilers.
                if !self.at_end() && self.peek() != b'.' {
                    self.seq_id()?;
                }
                return Ok(self.tree.add(Node::Special { prefix: "reference temporary for ", inner }));
            }
            _ => return Err(Invalid),
        };
        let inner = self.class_name()?;
        Ok(self.tree.add(Node::Special { prefix, inner }))
    }

    fn call_offset(&mut self) -> Parsed<()> {
        let virtual_offset = match self.peek() {
            b'h' => false,
            b'v' => true,
            _ => return Err(Invalid),
        };
        self.at += 1;
        for _ in 0..1 + usize::from(virtual_offset) {
            self.eat(b"n");
            self.decimal()?;
            self.expect(b"_")?;
        }
        Ok(())
    }
}

//! What is known not to work, and why: the footnotes of the tables.
//!
//! A cell that fails and is not here makes a test fail, and so does one that is here and works.

use peers::{Mode, Policy, Security, Stack, Token};

use crate::cell::{Cell, Complaint, Outcome, Work};

/// Who calls whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Our client calls the other stack's server.
    Out,
    /// The other stack's client calls our server.
    In,
}

impl Direction {
    /// What the other stack can do in this direction.
    pub fn security(self, stack: &Stack) -> &Security {
        match self {
            Self::Out => &stack.offers,
            Self::In => &stack.speaks,
        }
    }
}

/// An explained failure.
#[derive(Debug)]
pub struct Known {
    /// Who calls whom.
    pub direction: Direction,
    /// The other stack.
    pub stack: &'static str,
    /// The policies; all when empty.
    pub policies: &'static [Policy],
    /// The modes; all when empty.
    pub modes: &'static [Mode],
    /// The tokens; all when empty.
    pub tokens: &'static [Token],
    /// What does not work.
    pub work: Work,
    /// Words of the complaint, by which it is told from others.
    pub says: &'static str,
    /// Why it does not work, for a reader.
    pub reason: &'static str,
    /// The clause of the specification that decides who is right.
    pub clause: &'static str,
}

/// All footnotes, in the order of their numbers.
pub const KNOWN: &[Known] = &[
    Known {
        direction: Direction::Out,
        stack: "gopcua",
        policies: &[],
        modes: &[],
        tokens: &[],
        work: Work::Read,
        says: "a chunk of 65617 bytes is more than the 65535 agreed on",
        reason: "its server never splits a response: the arrays of 65,535 and 102,400 bytes arrive as \
             one chunk each, larger than both sides agreed on, and we close the connection. \
             Everything else is read",
        clause: "Part 6, 7.1.2.3 and 7.1.2.4 (Hello, Acknowledge): no chunk is larger than the \
             receiver's ReceiveBufferSize",
    },
    Known {
        direction: Direction::In,
        stack: "open62541",
        policies: &[Policy::None],
        modes: &[],
        tokens: &[Token::X509],
        work: Work::Connect,
        says: "BadUserSignatureInvalid",
        reason: "on an unsecured channel its client signs our nonce alone, without the certificate \
                 that our CreateSession response showed. Accepting that would let whoever sits \
                 between the two pass the signature on",
        clause: "Part 4, 5.7.3 (ActivateSession: userTokenSignature is over serverCertificate and \
                 serverNonce)",
    },
    Known {
        direction: Direction::In,
        stack: "pyopcua",
        policies: &[Policy::Basic128Rsa15, Policy::Basic256],
        modes: &[],
        tokens: &[Token::X509],
        work: Work::Connect,
        says: "BadUserSignatureInvalid",
        reason: "its client signs with the hash that the user's certificate was signed with, \
                 SHA-256, where the policy of the token wants SHA-1",
        clause: "Part 4, 7.42 (UserTokenPolicy: securityPolicyUri) and Part 7, the policies' \
                 AsymmetricSignatureAlgorithm",
    },
];

/// Why a stack lacks what others have.
#[derive(Debug)]
pub struct Gap {
    /// Who calls whom.
    pub direction: Direction,
    /// The stack.
    pub stack: &'static str,
    /// What is missing and why.
    pub reason: &'static str,
}

/// The gaps in the tables.
pub const GAPS: &[Gap] = &[
    Gap {
        direction: Direction::Out,
        stack: "pyopcua",
        reason: "its server can be set up for None and Basic256Sha256 only",
    },
    Gap {
        direction: Direction::Out,
        stack: "gopcua",
        reason: "its server cannot open a secured channel (an OPN is taken for an unsecured one \
                 and not answered), and checks neither passwords nor certificates of users, so \
                 that it takes Anonymous only",
    },
    Gap {
        direction: Direction::In,
        stack: "pyopcua",
        reason: "it has no Aes policies: its last release is older than their spread",
    },
];

impl Known {
    /// Whether this is about that cell.
    pub fn concerns(&self, direction: Direction, stack: &str, cell: Cell) -> bool {
        fn among<T: PartialEq>(list: &[T], one: &T) -> bool {
            list.is_empty() || list.contains(one)
        }
        (self.direction, self.stack) == (direction, stack)
            && among(self.policies, &cell.policy)
            && among(self.modes, &cell.mode)
            && among(self.tokens, &cell.token)
    }

    fn explains(&self, complaint: &Complaint) -> bool {
        self.work == complaint.work && complaint.what.contains(self.says)
    }
}

/// What is to be expected of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// All of it works.
    Works,
    /// The other stack does not have it.
    NotOffered,
    /// These footnotes, by their place in [`KNOWN`].
    Notes(Vec<usize>),
}

/// What the table says of a cell.
pub fn mark(direction: Direction, stack: &Stack, cell: Cell) -> Mark {
    if !cell.is_in(direction.security(stack)) {
        return Mark::NotOffered;
    }
    let notes: Vec<_> = KNOWN
        .iter()
        .enumerate()
        .filter(|(_, known)| known.concerns(direction, stack.name, cell))
        .map(|(index, _)| index)
        .collect();
    match notes.is_empty() {
        true => Mark::Works,
        false => Mark::Notes(notes),
    }
}

/// How an outcome differs from what the table says; nothing if it does not.
pub fn surprises(
    direction: Direction,
    stack: &Stack,
    cell: Cell,
    outcome: &Outcome,
) -> Vec<String> {
    let at = format!("{} {cell}", stack.name);
    let complaints = match (outcome, mark(direction, stack, cell)) {
        (Outcome::NotOffered, Mark::NotOffered) => return Vec::new(),
        (Outcome::NotOffered, _) => return vec![format!("{at}: no longer offered")],
        (Outcome::Tried(_), Mark::NotOffered) => {
            return vec![format!("{at}: offered, though it is listed as missing")];
        }
        (Outcome::Tried(complaints), _) => complaints,
    };
    let known = || {
        let known = KNOWN.iter();
        known.filter(|known| known.concerns(direction, stack.name, cell))
    };
    let unexplained = complaints
        .iter()
        .filter(|complaint| !known().any(|known| known.explains(complaint)))
        .map(|complaint| format!("{at}: {complaint}"));
    let mended = known()
        .filter(|known| !complaints.iter().any(|complaint| known.explains(complaint)))
        .map(|known| {
            let work = known.work.name();
            format!("{at}: {work} no longer fails as it did: {}", known.reason)
        });
    unexplained.chain(mended).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: Cell = Cell {
        policy: Policy::None,
        mode: Mode::None,
        token: Token::Anonymous,
    };

    fn surprises_of(stack: &str, complaints: Vec<Complaint>) -> Vec<String> {
        let stack = Stack::named(stack).unwrap();
        surprises(Direction::Out, stack, CELL, &Outcome::Tried(complaints))
    }

    fn too_large() -> Complaint {
        Complaint {
            work: Work::Read,
            what: format!("Read of i=3013: {}", KNOWN[0].says),
        }
    }

    #[test]
    fn a_failure_that_nobody_explained_is_a_surprise() {
        assert_eq!(surprises_of("asyncua", vec![]), Vec::<String>::new());
        let surprises = surprises_of("asyncua", vec![too_large()]);
        assert!(
            surprises[0].starts_with("asyncua None Anonymous: read: "),
            "{surprises:?}"
        );
    }

    #[test]
    fn so_is_an_explained_one_that_is_gone_and_one_that_fails_in_another_way() {
        assert_eq!(
            surprises_of("gopcua", vec![too_large()]),
            Vec::<String>::new()
        );
        assert_eq!(surprises_of("gopcua", vec![]).len(), 1);
        let other = Complaint {
            work: Work::Read,
            what: "it is BadOutOfService".into(),
        };
        assert_eq!(surprises_of("gopcua", vec![other]).len(), 2);
    }

    #[test]
    fn an_endpoint_that_appears_or_vanishes_is_a_surprise() {
        let asyncua = Stack::named("asyncua").unwrap();
        let gone = surprises(Direction::Out, asyncua, CELL, &Outcome::NotOffered);
        assert_eq!(gone.len(), 1);
        let gopcua = Stack::named("gopcua").unwrap();
        let named = Cell {
            token: Token::UserName,
            ..CELL
        };
        let new = surprises(Direction::Out, gopcua, named, &Outcome::Tried(vec![]));
        assert_eq!(new.len(), 1);
    }

    #[test]
    fn every_footnote_belongs_to_a_cell_and_every_gap_to_a_stack_that_has_one() {
        for known in KNOWN {
            let stack = Stack::named(known.stack).unwrap();
            let offered = known.direction.security(stack);
            let mut cells = Cell::all().filter(|cell| cell.is_in(offered));
            assert!(
                cells.any(|cell| known.concerns(known.direction, known.stack, cell)),
                "{known:?}"
            );
        }
        for direction in [Direction::Out, Direction::In] {
            for stack in Stack::all() {
                let has = |cell: &Cell| cell.is_in(direction.security(stack));
                // Who has curves is said once, at the head of the page.
                let (curves, others): (Vec<_>, Vec<_>) =
                    Cell::all().partition(|cell| cell.key().curve().is_some());
                let has_curves = stack.name == "open62541";
                assert!(curves.iter().all(|cell| has(cell) == has_curves));
                let has_gap = others.iter().any(|cell| !has(cell));
                let explained = GAPS
                    .iter()
                    .any(|gap| (gap.direction, gap.stack) == (direction, stack.name));
                assert_eq!(has_gap, explained, "{direction:?} {}", stack.name);
            }
        }
    }
}

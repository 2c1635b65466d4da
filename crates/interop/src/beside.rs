//! What other stacks' clients judge of our server beside values: a table of `docs/interop.md`, held to the
//! truth by the test `breadth`.

use std::fmt::{self, Write};

/// Something that our server has beside values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject {
    /// The word by which a judge is asked for it.
    pub step: &'static str,
    /// The head of its column.
    pub title: &'static str,
    /// What a judge does, and what must come of it.
    pub work: &'static str,
}

/// All of them, in the order in which judges look at them.
pub const SUBJECTS: [Subject; 6] = [
    Subject {
        step: "flood",
        title: "flood of events",
        work: "a subscription to 50 sources of 5,000 events/s together; by their EventIds none may be missing and none \
               come twice, up to where an overflow event tells a client that it was too slow",
    },
    Subject {
        step: "where",
        title: "where clauses",
        work: "on the Server object, OfType SystemEventType And SourceName Equals one of the 50: no other source, and \
               from the first to the last Time just as many as its rate makes",
    },
    Subject {
        step: "conditions",
        title: "conditions",
        work: "Acknowledge with a comment by EventId and ConditionId, which comes back as an event; ConditionRefresh, \
               between whose start and end come those of the 40 conditions there that are retained",
    },
    Subject {
        step: "history",
        title: "history",
        work: "HistoryRead raw over two seconds, seven values a page with continuation points: each value is what the \
               counter had at its SourceTimestamp, and none is missing",
    },
    Subject {
        step: "manage",
        title: "nodes",
        work: "AddNodes (an object, a variable below it), Read, AddReferences, Browse, DeleteReferences, Browse, DeleteNodes, \
               Read: BadNodeIdUnknown",
    },
    Subject {
        step: "login",
        title: "X.509 users",
        work: "over Basic256Sha256:SignAndEncrypt, a user whose certificate is trusted comes in and writes what her group \
               may; one who is not trusted gets BadIdentityTokenRejected, and who has a certificate without its key \
               BadUserSignatureInvalid",
    },
];

/// The stacks whose clients are asked.
pub const JUDGES: [&str; 4] = ["open62541", "asyncua", "node-opcua", "milo1"];

/// Something about a cell that a reader should know.
#[derive(Debug)]
pub struct Remark {
    /// The stack.
    pub stack: &'static str,
    /// The subject's step.
    pub step: &'static str,
    /// What there is to know, and why.
    pub what: &'static str,
}

/// All remarks, in the order of their letters.
pub const REMARKS: &[Remark] = &[
    Remark {
        stack: "open62541",
        step: "manage",
        what: "its UA_VariableAttributes_default says that no attribute is specified, so that a server looks at none of \
               them; the judge sets the mask. Part 4, 7.24.1 (NodeAttributes: specifiedAttributes)",
    },
    Remark {
        stack: "node-opcua",
        step: "manage",
        what: "its client has no calls for the services of Part 4, 5.8; the stack has their messages, and the judge sends \
               them with the session's performMessageTransaction",
    },
    Remark {
        stack: "asyncua",
        step: "history",
        what: "its HistoryReadParameters say ReleaseContinuationPoints unless told otherwise, and then nothing is read. \
               Part 4, 5.11.3.2 (HistoryRead)",
    },
];

impl Remark {
    fn is_of(&self, stack: &str, subject: &Subject) -> bool {
        (self.stack, self.step) == (stack, subject.step)
    }
}

const HEAD: &str = "
## Their clients, our server: beside values

Events, conditions, histories, nodes that clients add, users with certificates, on a plant with the profile `alarms`.
A small program on each client looks at them ([plants](plant.md#judged-by-other-clients)); ✓ where what came of it is what
must. A letter is a remark below.

```
cargo test -p interop --test all breadth::
```
";

/// The part of the page that tells of it. `letter` gives the sign of a remark.
pub fn write(out: &mut String, letter: impl Fn(usize) -> String) -> fmt::Result {
    out.write_str(HEAD)?;
    write!(out, "\n| judge |")?;
    for subject in SUBJECTS {
        write!(out, " {} |", subject.title)?;
    }
    writeln!(out, "\n|---|{}", ":-:|".repeat(SUBJECTS.len()))?;
    for stack in JUDGES {
        write!(out, "| {stack} |")?;
        for subject in SUBJECTS {
            let all = REMARKS.iter().enumerate();
            let own = all.filter(|(_, remark)| remark.is_of(stack, &subject));
            let letters: Vec<_> = own.map(|(index, _)| letter(index)).collect();
            let space = if letters.is_empty() { "" } else { " " };
            write!(out, " ✓{space}{} |", letters.join(", "))?;
        }
        writeln!(out)?;
    }
    writeln!(out)?;
    for subject in SUBJECTS {
        writeln!(out, "- **{}**: {}.", subject.title, subject.work)?;
    }
    writeln!(out, "\nRemarks:\n")?;
    for (index, remark) in REMARKS.iter().enumerate() {
        let (letter, stack, what) = (letter(index), remark.stack, remark.what);
        writeln!(out, "- **{letter}** {stack}: {what}.")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_of_judges_and_subjects() {
        for remark in REMARKS {
            assert!(JUDGES.contains(&remark.stack), "{remark:?}");
            let is_one = SUBJECTS.iter().any(|subject| subject.step == remark.step);
            assert!(is_one, "{remark:?}");
        }
    }
}

//! What a status code most often means that all operations ended with, and what to type next.

/// What to try.
pub(crate) fn advice(name: &str) -> &'static str {
    match name {
        "BadNodeIdUnknown" | "BadNodeIdInvalid" => {
            "there is no such node: look with `uaperf browse`, and name its namespace by URI (nsu=urn:x;i=5), as \
             indices differ from server to server"
        }
        "BadUserAccessDenied" => {
            "this user may not: log in as another one with --user, --user-cert or --user-token"
        }
        "BadNotReadable" | "BadNotWritable" => {
            "the node's AccessLevel does not allow it, whoever asks: choose another node"
        }
        "BadAttributeIdInvalid" => {
            "the node has no such attribute: choose another node or --attribute"
        }
        "BadTypeMismatch" => "the node takes values of another type: see --values",
        "BadServiceUnsupported" => {
            "the server does not have this service (a plant lets clients add nodes with `uaperf serve \
             --allow-nodes N`)"
        }
        "BadHistoryOperationUnsupported" => {
            "the node keeps no history: choose one whose Historizing is true (in a plant, history = true)"
        }
        "BadTooManyOperations" => {
            "the server takes fewer operations in a request: --batch, --items-per-call or --nodes-per-call"
        }
        "BadTooManySessions" => {
            "the server grants no more sessions: close other clients, or fewer with --sessions"
        }
        "BadTooManySubscriptions" | "BadTooManyMonitoredItems" => {
            "the server grants no more: fewer with --subscriptions or --items"
        }
        "BadResourceUnavailable" | "BadOutOfMemory" => {
            "the server has no room for more: ask for less at a time, or raise its limit"
        }
        "BadResponseTooLarge" | "BadRequestTooLarge" | "BadEncodingLimitsExceeded" => {
            "the message is larger than one side takes: fewer nodes in a request with --batch"
        }
        "BadTimeout" => {
            "the server is slow or silent: ask for less, or allow more time with --timeout"
        }
        _ => "look at the status code: node, user, security or a limit of the server",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_is_known_says_what_to_type_and_another_where_to_look() {
        assert!(advice("BadNodeIdUnknown").contains("uaperf browse"));
        assert!(advice("BadServiceUnsupported").contains("--allow-nodes"));
        assert!(advice("BadSomething").contains("look at the status code"));
    }
}

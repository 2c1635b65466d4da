//! Clients and servers of other stacks beside ours and beside each other, in one binary.

mod across;
mod against_itself;
mod breadth;
mod plant;
mod policies;
mod pubsub;
mod pubsub_json;
mod table;

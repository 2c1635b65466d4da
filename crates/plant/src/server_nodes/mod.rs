//! What every server has in its address space beside what a plant puts there: nodes of the specification whose values are
//! the server's own.

pub mod certificate_directory;
pub mod publish_subscribe;
pub mod security_groups;
pub mod server_object;

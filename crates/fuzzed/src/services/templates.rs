//! A request made into a template is still the same request.

use wire::service::Request;
use wire::template::Template;
use wire::types::{BinaryEncodable, Context, ContextOwned, MessageInfo};

use super::{WIDER, encoded};

const HANDLE: u32 = 0x0102_0304;
const TICKS: i64 = 133_590_384_000_000_000;

pub fn request(request: &Request) {
    let context = ContextOwned::default();
    let context = context.context();
    // Times out of range are clipped first: later they would be a difference.
    let Ok(request) = &Request::decode(&encoded(request), &WIDER) else {
        return;
    };
    let template = match request {
        Request::Read(read) => made(read, &context),
        Request::Call(call) => made(call, &context),
        Request::Browse(browse) => made(browse, &context),
        Request::Write(write) => made(write, &context),
        _ => return,
    };
    let Some(template) = template else { return };
    let mut out = Vec::new();
    template.append(&mut out, HANDLE, TICKS);
    assert_eq!(out.len(), template.len());
    let again = Request::decode(&out, &WIDER).unwrap();
    assert_eq!(again.header().request_handle, HANDLE);
    assert_eq!(again.header().timestamp.ticks(), TICKS);
    // But for those two fields.
    let mut again = again;
    again.header_mut().request_handle = request.header().request_handle;
    again.header_mut().timestamp = request.header().timestamp;
    assert_eq!(encoded(&again), encoded(request));
}

fn made<T: BinaryEncodable + MessageInfo>(message: &T, context: &Context<'_>) -> Option<Template> {
    Template::new(message, context).ok()
}

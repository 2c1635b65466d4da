//! The tables of `docs/interop.md`, held to the stacks: a test for each stack in each direction.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use interop::{Extent, Ours, Theirs, inward, out};
use peers::testing::require;

/// One folder of certificates for all tests.
static OURS: LazyLock<Ours> = LazyLock::new(|| Ours::new().unwrap());

fn our_client_on(name: &str) {
    let Some(stack) = require(name) else { return };
    let unexpected = out(stack, &OURS).unwrap();
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}

fn our_server_with(name: &str) {
    let Some(stack) = require(name) else { return };
    // A server for each: what one client has written, and not yet restored, another would read.
    let theirs = Theirs::new().unwrap();
    let unexpected = inward(stack, &theirs, Extent::Sample);
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}

#[test]
fn the_page_says_what_is_known() {
    let page = include_str!("../../../docs/interop.md");
    assert!(
        page == interop::page::page(),
        "docs/interop.md is stale: cargo run -p interop --bin table"
    );
}

macro_rules! stacks {
    ($($module:ident is $name:literal),+ $(,)?) => {$(
        mod $module {
            #[test]
            fn agrees_with_our_client_in_every_cell() {
                super::our_client_on($name);
            }

            #[test]
            fn agrees_with_our_server_in_a_sample_of_cells() {
                super::our_server_with($name);
            }
        }
    )+

        #[test]
        fn no_stack_is_left_out() {
            let named: &[&str] = &[$($name),+];
            for stack in peers::Stack::all() {
                assert!(named.contains(&stack.name), "{}", stack.name);
            }
        }
    };
}

stacks! {
    open62541 is "open62541",
    async_opcua is "async-opcua",
    asyncua is "asyncua",
    python_opcua is "pyopcua",
    node_opcua is "node-opcua",
    gopcua is "gopcua",
    milo_1 is "milo1",
    milo_06 is "milo06",
}

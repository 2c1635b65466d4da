//! Which packets of an interface the kernel hands over: a program for its packet filter.

use nix::libc;
use socket2::SockFilter;

use super::ethernet_url::EthernetUrl;
use super::frame::UADP;

/// What the kernel knows of a packet beside its bytes (`linux/filter.h`).
const BESIDE: u32 = 0xffff_f000;
const KIND: u32 = BESIDE + 4;
const INTERFACE: u32 = BESIDE + 8;
const TAG: u32 = BESIDE + 44;
const HAS_TAG: u32 = BESIDE + 48;
/// A packet that this host sends: on a loopback it comes back, elsewhere it does not.
const OUTGOING: u32 = 4;
/// All of a packet.
const WHOLE: u32 = u32::MAX;

const WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
const EQUALS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// What is looked at, and what it has to be.
struct Test {
    load: (u32, u32),
    mask: Option<u32>,
    wants: Wants,
}

enum Wants {
    This(u32),
    NotThis(u32),
}

impl Test {
    fn new(load: u32, at: u32, wants: u32) -> Self {
        Self {
            load: (load, at),
            mask: None,
            wants: Wants::This(wants),
        }
    }
}

/// Frames of UADP that come to an interface, as far as the URL means them.
pub fn of(interface: u32, url: &EthernetUrl) -> Vec<SockFilter> {
    let mut tests = vec![
        Test {
            wants: Wants::NotThis(OUTGOING),
            ..Test::new(WORD, KIND, 0)
        },
        Test::new(WORD, INTERFACE, interface),
    ];
    if let Some([a, b, c, d, e, f]) = url.mac() {
        tests.push(Test::new(WORD, 0, u32::from_be_bytes([a, b, c, d])));
        tests.push(Test::new(HALF, 4, u16::from_be_bytes([e, f]).into()));
    }
    if let Some(vlan) = url.vlan {
        // Part of the tag is looked at if only the VID is said.
        let mask = if vlan.priority.is_some() {
            0xefff
        } else {
            0x0fff
        };
        tests.push(Test::new(WORD, HAS_TAG, 1));
        tests.push(Test {
            mask: Some(mask),
            ..Test::new(WORD, TAG, vlan.tag().into())
        });
    }
    program(&tests)
}

fn program(tests: &[Test]) -> Vec<SockFilter> {
    let instruction = |code: u32, yes: usize, no: usize, k: u32| {
        let jump = |far: usize| u8::try_from(far).unwrap_or(u8::MAX);
        SockFilter::new(
            // Codes of instructions have 16 bits; the constants are wider.
            u16::try_from(code).unwrap_or_default(),
            jump(yes),
            jump(no),
            k,
        )
    };
    let lines: usize = tests
        .iter()
        .map(|it| if it.mask.is_some() { 3 } else { 2 })
        .sum();
    // Behind the tests: the type, or a tag and the type, and then two ends.
    let refuse = lines + 7;
    let mut all = Vec::new();
    for test in tests {
        all.push(instruction(test.load.0, 0, 0, test.load.1));
        if let Some(mask) = test.mask {
            all.push(instruction(AND, 0, 0, mask));
        }
        let far = refuse - all.len() - 1;
        all.push(match test.wants {
            Wants::This(it) => instruction(EQUALS, 0, far, it),
            Wants::NotThis(it) => instruction(EQUALS, far, 0, it),
        });
    }
    let accept = refuse - 1;
    let to = |from: usize, place: usize| place - from - 1;
    // A tag that the kernel took out is not there; one inside another one is.
    all.push(instruction(HALF, 0, 0, 12));
    all.push(instruction(EQUALS, to(lines + 1, accept), 0, UADP.into()));
    all.push(instruction(EQUALS, 1, 0, 0x8100));
    all.push(instruction(EQUALS, 0, to(lines + 3, refuse), 0x88a8));
    all.push(instruction(HALF, 0, 0, 16));
    all.push(instruction(EQUALS, 0, to(lines + 5, refuse), UADP.into()));
    all.push(instruction(RETURN, 0, 0, WHOLE));
    all.push(instruction(RETURN, 0, 0, 0));
    all
}

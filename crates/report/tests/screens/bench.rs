//! A bench of arithmetic: a generator that is always on time, and a server that takes 200 µs for each
//! request, answers one at a time and can stop for a while.

use std::ops::Range;

use plan::{
    Arrival, NodeSpec, Pace, Phase as Planned, Read, Schedule, Seat, TargetSpec, Targets, Work,
};
use record::run::{Figure, Fingerprint, Phase, Product, Target, WarmUp};
use record::{Lateness, Ledger, Run, Times};

pub const SECOND: u64 = 1_000_000_000;
const SERVICE: u64 = 200_000;

/// Reading a hundred values for ten seconds at a constant rate, one request in flight at most.
pub fn reading(rate: &str) -> Planned {
    let nodes: NodeSpec = "nsu=urn:bench;i=1000..1099".parse().unwrap();
    let read = Read {
        batch: 100,
        ..Read::new(nodes.into())
    };
    Planned {
        arrival: Arrival::Open(Pace::Constant {
            rate: rate.parse().unwrap(),
        }),
        slots: 1,
        ..Planned::new(Work::Read(read))
    }
}

/// The run of a plan's phase against a server that does nothing in `stall`.
pub fn run(planned: &Planned, stall: Range<u64>) -> Run {
    let end = u64::try_from(planned.duration.unwrap().as_nanos()).unwrap();
    let mut ledger = Ledger::with_end(end);
    let mut free = 0;
    for due in Schedule::of_phase(
        planned,
        Seat {
            target: 0,
            index: 0,
        },
    )
    .unwrap()
    {
        let sent = due.max(free);
        // Every answer that would come during the stall comes behind it; work done until then is kept.
        let mut completed = sent + SERVICE;
        if sent < stall.end && completed > stall.start {
            completed += stall.end - stall.start.max(sent);
        }
        free = completed;
        let slot = sent - due;
        ledger.late(
            sent,
            Lateness {
                slot,
                ..Lateness::default()
            },
            1,
        );
        ledger.sent_bytes(sent, 1234, 1);
        ledger.done(
            Times {
                planned: due,
                sent,
                completed,
            },
            0,
            100,
            1,
        );
        ledger.received_bytes(completed, 2100, 1);
        ledger.levels(sent, 1, slot / 1_000_000);
    }
    let mut run = Run::new("read", "2026-03-01T09:30:00Z".parse().unwrap(), machine());
    let spec: TargetSpec = "opc.tcp://plc1".parse().unwrap();
    let targets = Targets::resolve(&[spec], |_| unreachable!()).unwrap();
    let plan = plan::Plan::of(targets, planned.clone());
    run.plan = serde_json::to_value(plan).unwrap();
    run.targets = vec![Target {
        url: "opc.tcp://plc1:4840".into(),
        product: Product {
            name: Figure::Known("open62541 OPC UA Server".into()),
            version: Figure::Known("1.4.8".into()),
            manufacturer: Figure::Known("open62541".into()),
            ..Product::default()
        },
        security: "None:None".into(),
        user: "anonymous".into(),
        ..Target::default()
    }];
    let warm_up = WarmUp {
        found_ns: Some(0),
        ..WarmUp::default()
    };
    let name = |code: u32| {
        if code == 0 {
            "Good".into()
        } else {
            format!("0x{code:08X}")
        }
    };
    let phase = Phase::new("read", run.started, &ledger.finish(), warm_up, 0, &name);
    run.phases.push(phase);
    run
}

fn machine() -> Fingerprint {
    Fingerprint {
        cpu: Figure::Known("A CPU at 2 GHz".into()),
        cores: Figure::Known(2),
        kernel: Figure::Known("Linux 6.12".into()),
        ..Fingerprint::default()
    }
}

//! Ten values to look at: all computed from the clock, all moving.

use std::time::Duration;

use wire::template::walk::BuiltInType;
use wire::types::{NodeId, ObjectId, UAString};

use crate::space::{Builder, Pattern, Shape, Signal, Source, Variable};

const NAMESPACE: &str = "urn:uaperf:demo";

const UPDATE: Duration = Duration::from_millis(100);

/// Adds them, as `ns=…;s=NAME` in a folder `Demo`.
pub fn build(builder: &mut Builder) {
    let namespace = builder.namespace(NAMESPACE);
    let id = |name: &str| NodeId::new(namespace, UAString::from(name));
    let objects: NodeId = ObjectId::ObjectsFolder.into();
    let folder = builder.folder(&objects, id("Demo"), "Demo");
    for (name, kind, pattern) in signals() {
        let signal = Signal::new(kind, pattern, UPDATE);
        let shape = Shape {
            minimum_sampling_interval: UPDATE.as_secs_f64() * 1000.0,
            ..Shape::scalar(NodeId::new(0, kind as u32))
        };
        let variable = Variable::new(Source::Signal(signal), shape);
        builder.variable(&folder, id(name), name, variable);
    }
}

fn signals() -> [(&'static str, BuiltInType, Pattern); 10] {
    use BuiltInType as T;
    let sine = |low, high, updates, phase| Pattern::Sine {
        low,
        high,
        updates,
        phase,
    };
    let ramp = |low, high, updates| Pattern::Ramp { low, high, updates };
    let noise = |low, high, seed| Pattern::Noise { low, high, seed };
    [
        ("Temperature", T::Double, sine(18.0, 24.0, 600, 0.0)),
        ("Pressure", T::Double, sine(0.9, 1.1, 300, 0.25)),
        ("Flow", T::Float, noise(10.0, 12.0, 1)),
        ("Level", T::Double, ramp(0.0, 100.0, 1000)),
        ("Speed", T::Int32, sine(0.0, 1500.0, 200, 0.5)),
        ("Torque", T::Float, noise(-5.0, 5.0, 2)),
        ("Pieces", T::UInt32, Pattern::Counter { start: 0.0 }),
        ("Cycles", T::UInt64, Pattern::Counter { start: 1e6 }),
        (
            "Running",
            T::Boolean,
            Pattern::Toggle {
                even: 1.0,
                odd: 0.0,
            },
        ),
        ("Power", T::Double, ramp(2.0, 7.5, 50)),
    ]
}

//! The bench address space: constants whose value is told by their id, two counters, a method.

use std::time::Duration;

use wire::template::walk::BuiltInType;
use wire::types::{
    Argument, DataTypeId, ExtensionObject, LocalizedText, NodeId, ObjectId, ObjectTypeId,
    ReferenceTypeId, Variant,
};

use crate::space::value::{Blob, Scalar, Stamp};
use crate::space::{
    Body, Builder, Method, Pattern, Shape, Signal, Source, Variable, access, encode,
};
use wire::template::walk::RawVariant;
use wire::types::StatusCode;

const NAMESPACE: &str = "urn:bench";
const BYTE_ARRAYS: &[(u32, usize)] = &[
    (3010, 10),
    (3011, 10_000),
    (3012, 20_000),
    (3013, 65_535),
    (3014, 102_400),
];
const COUNTERS: &[(u32, u64)] = &[(3030, 100), (3031, 1000)];

/// Values that anybody may write, with status and time.
const WRITABLE: u8 = access::READ | access::WRITE | access::STATUS_WRITE | access::TIMESTAMP_WRITE;

/// Adds it. With `update` all scalars are counted up this often.
pub fn build(builder: &mut Builder, update: Option<Duration>) {
    let namespace = builder.namespace(NAMESPACE);
    let id = |number: u32| NodeId::new(namespace, number);
    let objects: NodeId = ObjectId::ObjectsFolder.into();
    let folder = |builder: &mut Builder, number, name| builder.folder(&objects, id(number), name);

    let doubles = folder(builder, 1, "Doubles");
    for i in 1000..1500 {
        let variable = scalar(builder, BuiltInType::Double, i, update);
        builder.variable(&doubles, id(i), &format!("Double{i}"), variable);
    }
    let integers = folder(builder, 2, "Int32s");
    for i in 1500..2000 {
        let variable = scalar(builder, BuiltInType::Int32, i, update);
        builder.variable(&integers, id(i), &format!("Int32{i}"), variable);
    }

    let arrays = folder(builder, 3, "Arrays");
    for &(i, len) in BYTE_ARRAYS {
        let bytes: Vec<u8> = (0..len).map(|k| k as u8).collect();
        let variable = array(builder, DataTypeId::Byte, bytes.into());
        builder.variable(&arrays, id(i), &format!("Bytes{len}"), variable);
    }
    let numbers: Vec<i16> = (0..512).collect();
    let variable = array(builder, DataTypeId::Int16, numbers.into());
    builder.variable(&arrays, id(3020), "Int16s512", variable);

    let counters = folder(builder, 4, "Counters");
    for &(i, millis) in COUNTERS {
        let interval = Duration::from_millis(millis);
        let counter = Signal::new(
            BuiltInType::UInt32,
            Pattern::Counter { start: 0.0 },
            interval,
        );
        let variable = signal(counter);
        builder.variable(&counters, id(i), &format!("Counter{millis}ms"), variable);
    }

    method(builder, &objects, namespace);
}

fn scalar(builder: &Builder, kind: BuiltInType, i: u32, update: Option<Duration>) -> Variable {
    if let Some(interval) = update {
        let start = f64::from(i);
        return signal(Signal::new(kind, Pattern::Counter { start }, interval));
    }
    let encoded = match kind {
        BuiltInType::Double => encode::variant(f64::from(i)),
        _ => encode::variant(i as i32),
    };
    let stamp = Stamp {
        status: StatusCode::Good,
        source: builder.anchor(),
    };
    let value = RawVariant::parse(&encoded).ok();
    let source = value.and_then(|value| Scalar::new(&value, stamp));
    let source = match source {
        Some(scalar) => Source::Scalar(scalar),
        None => Source::Blob(Blob::new(encoded.into(), stamp)),
    };
    let shape = Shape {
        access_level: WRITABLE,
        ..Shape::scalar(NodeId::new(0, kind as u32))
    };
    Variable::new(source, shape)
}

fn signal(signal: Signal) -> Variable {
    let shape = Shape {
        minimum_sampling_interval: signal.interval().as_secs_f64() * 1000.0,
        ..Shape::scalar(NodeId::new(0, signal.kind as u32))
    };
    Variable::new(Source::Signal(signal), shape)
}

fn array(builder: &Builder, of: DataTypeId, value: Variant) -> Variable {
    let stamp = Stamp {
        status: StatusCode::Good,
        source: builder.anchor(),
    };
    let shape = Shape {
        value_rank: 1,
        access_level: WRITABLE,
        ..Shape::scalar(of)
    };
    let source = Source::Blob(Blob::new(encode::variant(value).into(), stamp));
    Variable::new(source, shape)
}

fn method(builder: &mut Builder, objects: &NodeId, namespace: u16) {
    let id = |number: u32| NodeId::new(namespace, number);
    let object = builder.object(objects, id(4001), "Methods", ObjectTypeId::BaseObjectType);
    let body = Body::Method {
        executable: true,
        method: Some(Method::Echo),
    };
    builder.named(&id(4000), "echo", body);
    builder.link(&object, ReferenceTypeId::HasComponent, &id(4000));
    for (number, name) in [(4002, "InputArguments"), (4003, "OutputArguments")] {
        let argument = Argument {
            name: "value".into(),
            data_type: DataTypeId::Double.into(),
            value_rank: -1,
            array_dimensions: None,
            description: LocalizedText::null(),
        };
        let arguments = vec![ExtensionObject::from_message(argument)];
        let value = Variant::from(arguments);
        builder.property(&id(4000), id(number), name, DataTypeId::Argument, value);
    }
}

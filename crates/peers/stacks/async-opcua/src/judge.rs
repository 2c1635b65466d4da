//! The steps that judge a server: what was seen goes to a file, line by line, for somebody else to
//! compare. They are only done when named.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write;
use std::time::Duration;

use opcua::client::DataChangeCallback;
use opcua::types::{
    AttributeId, BinaryEncodable, BrowseDescription, BrowseDirection, ContextOwned, DataValue,
    MonitoredItemCreateRequest, MonitoringMode, MonitoringParameters, NodeId, ObjectId,
    ReadValueId, ReferenceDescription, StatusCode, TimestampsToReturn, Variant,
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::Options;
use crate::client::{Client, Step, first, text, within};

const NODES_AT_ONCE: usize = 100;
const REFERENCES_AT_ONCE: u32 = 100;
const ATTRIBUTES: u32 = 27;

impl Client {
    /// All references of each node, both ways, by BrowseNext where there are many.
    async fn references(&self, nodes: &[NodeId]) -> Result<Vec<Vec<ReferenceDescription>>, String> {
        let descriptions: Vec<_> = nodes
            .iter()
            .map(|node| BrowseDescription {
                node_id: node.clone(),
                browse_direction: BrowseDirection::Both,
                reference_type_id: NodeId::null(),
                include_subtypes: true,
                node_class_mask: 0,
                result_mask: 63,
            })
            .collect();
        let browse = self.session.browse(&descriptions, REFERENCES_AT_ONCE, None);
        let mut all = Vec::new();
        for mut page in within(browse).await? {
            let mut found = Vec::new();
            loop {
                if !page.status_code.is_good() {
                    return Err(page.status_code.to_string());
                }
                found.extend(page.references.take().unwrap_or_default());
                if page.continuation_point.is_null_or_empty() {
                    break;
                }
                let points = std::slice::from_ref(&page.continuation_point);
                page = first(within(self.session.browse_next(false, points)).await?)?;
            }
            all.push(found);
        }
        Ok(all)
    }

    async fn attributes(&self, nodes: &[NodeId]) -> Result<Vec<DataValue>, String> {
        let wanted: Vec<_> = nodes
            .iter()
            .flat_map(|node| (1..=ATTRIBUTES).map(move |attribute| (node, attribute)))
            .map(|(node, attribute_id)| ReadValueId {
                node_id: node.clone(),
                attribute_id,
                ..Default::default()
            })
            .collect();
        let read = self.session.read(&wanted, TimestampsToReturn::Neither, 0.0);
        let results = within(read).await?;
        match results.len() == wanted.len() {
            true => Ok(results),
            false => Err(format!("{} results to {}", results.len(), wanted.len())),
        }
    }

    pub async fn dump(&self, options: &Options) -> Step {
        let mut out = String::new();
        let root = NodeId::from(ObjectId::RootFolder);
        let mut seen = HashSet::from([root.clone()]);
        let mut pending = VecDeque::from([root]);
        while !pending.is_empty() {
            let some = pending.len().min(NODES_AT_ONCE);
            let nodes: Vec<NodeId> = pending.drain(..some).collect();
            let found = self.references(&nodes).await?;
            let values = self.attributes(&nodes).await?;
            let values = values.chunks(ATTRIBUTES as usize);
            for ((node, references), values) in nodes.iter().zip(found).zip(values) {
                let name = hex(node);
                for reference in references {
                    let _ = writeln!(out, "R\t{name}\t{}", hex(&reference));
                    let target = reference.node_id;
                    if target.server_index == 0 && seen.insert(target.node_id.clone()) {
                        pending.push_back(target.node_id);
                    }
                }
                for (attribute, value) in (1..).zip(values) {
                    let status = value.status.unwrap_or_default();
                    if status == StatusCode::BadAttributeIdInvalid {
                        continue;
                    }
                    let body = value.value.as_ref().map(hex).unwrap_or_default();
                    let _ = writeln!(out, "A\t{name}\t{attribute}\t{:08x}\t{body}", status.bits());
                }
            }
        }
        save(options, &out)?;
        Ok(json!({"nodes": seen.len(), "lines": out.lines().count()}))
    }

    /// Items for nodes of the bench, told of with their numbers.
    async fn follow(
        &self,
        numbers: std::ops::Range<u32>,
    ) -> Result<(u32, mpsc::UnboundedReceiver<(u32, DataValue)>), String> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let callback = DataChangeCallback::new(move |value, item| {
            let _ = sender.send((item.client_handle(), value));
        });
        let interval = Duration::from_millis(100);
        let create = self
            .session
            .create_subscription(interval, 600, 10, 0, 0, true, callback);
        let subscription = within(create).await?;
        let items = numbers.map(|number| {
            MonitoredItemCreateRequest::new(
                ReadValueId::new(self.id(number), AttributeId::Value),
                MonitoringMode::Reporting,
                MonitoringParameters {
                    client_handle: number,
                    sampling_interval: 0.0,
                    queue_size: 1000,
                    discard_oldest: true,
                    ..Default::default()
                },
            )
        });
        let both = TimestampsToReturn::Both;
        let create = self
            .session
            .create_monitored_items(subscription, both, items.collect());
        for created in within(create).await? {
            if !created.result.status_code.is_good() {
                return Err(created.result.status_code.to_string());
            }
        }
        Ok((subscription, receiver))
    }

    pub async fn watch(&self, options: &Options) -> Step {
        let wanted = updates(options) + 1;
        let (subscription, mut changes) = self.follow(1000..2000).await?;
        let mut out = String::new();
        let mut counts = HashMap::new();
        let mut complete = 0;
        while complete < 1000 {
            let (number, value) = changes.recv().await.ok_or("the stream of changes ended")?;
            let status = value.status.unwrap_or_default().bits();
            let _ = writeln!(out, "{number}\t{}\t{status:08x}", whole(&value));
            let count = counts.entry(number).or_insert(0);
            *count += 1;
            complete += usize::from(*count == wanted);
        }
        let _ = within(self.session.delete_subscription(subscription)).await;
        save(options, &out)?;
        Ok(json!({"notifications": out.lines().count()}))
    }

    pub async fn cut(&self, options: &Options) -> Step {
        let (subscription, mut changes) = self.follow(3030..3031).await?;
        let mut out = String::new();
        for number in 1..=5 + updates(options) {
            let change = loop {
                match tokio::time::timeout(Duration::from_secs(1), changes.recv()).await {
                    Ok(change) => break change,
                    // In a session that it has activated again, the stack sends no Publish by
                    // itself: only a new subscription or this makes it.
                    Err(_) => self.session.trigger_publish_now(),
                }
            };
            let (_, value) = change.ok_or("the stream of changes ended")?;
            let _ = writeln!(out, "{}", whole(&value));
            if number == 5 {
                out.push_str("CUT\n");
                let port = options.get("--cut").unwrap_or_default();
                let socket = tokio::net::TcpStream::connect(format!("127.0.0.1:{port}")).await;
                drop(socket.map_err(|e| e.to_string())?);
            }
        }
        let _ = within(self.session.delete_subscription(subscription)).await;
        save(options, &out)?;
        Ok(json!({"notifications": out.lines().count() - 1}))
    }
}

fn updates(options: &Options) -> usize {
    let named = options.get("--updates").and_then(|n| n.parse().ok());
    named.unwrap_or(50)
}

fn save(options: &Options, out: &str) -> Result<(), String> {
    let path = options.get("--out").ok_or("--out is required")?;
    std::fs::write(path, out).map_err(|e| e.to_string())
}

/// A number without a fraction.
fn whole(value: &DataValue) -> i64 {
    match value.value {
        Some(Variant::Double(x)) => x as i64,
        Some(Variant::Int32(x)) => x.into(),
        Some(Variant::UInt32(x)) => x.into(),
        _ => -1,
    }
}

fn hex(value: &impl BinaryEncodable) -> String {
    let mut bytes = Vec::new();
    match value.encode(&mut bytes, &ContextOwned::default().context()) {
        Ok(()) => bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
        Err(e) => text(&e),
    }
}

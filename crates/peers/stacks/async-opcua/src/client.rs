//! A client of the bench address space; prints one JSON object.

use std::collections::HashSet;
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use opcua::client::reverse_connect::ReverseConnectionSource;
use opcua::client::{ClientBuilder, DataChangeCallback, IdentityToken, Session};
use opcua::crypto::{CertificateStore, X509Data};
use opcua::sync::RwLock;
use opcua::types::{
    AttributeId, BrowseDescription, BrowseDirection, BrowseResult, CallMethodRequest, DataValue,
    EndpointDescription, Error, MessageSecurityMode, MonitoredItemCreateRequest, MonitoringMode,
    MonitoringParameters, NodeClass, NodeId, ObjectId, ReadValueId, ReferenceTypeId, StatusCode,
    TimestampsToReturn, Variant, WriteValue,
};
use serde_json::{Map, Value, json};

use crate::{NAMESPACE, Options, VERSION, application_uri, identity};

/// Steps that are only done when named.
const JUDGING: [&str; 3] = ["dump", "watch", "cut"];

pub type Step = Result<Value, String>;

pub async fn run(url: &str, options: &Options) -> i32 {
    let mut report = Report::default();
    let all = "read,write,browse,call,subscribe";
    let asked: Vec<&str> = options.get("--do").unwrap_or(all).split(',').collect();
    let judging = asked.iter().any(|step| JUDGING.contains(step));
    let patience = Duration::from_secs(if judging { 170 } else { 60 });
    let work = async {
        let connected = Client::connect(url, options).await;
        report.note(
            "connect",
            connected
                .as_ref()
                .map(|c| json!({"ms": c.ms}))
                .map_err(Clone::clone),
        );
        let mut client = connected.ok();
        let steps = all.split(',').chain(JUDGING);
        for name in steps.filter(|name| asked.contains(name)) {
            let Some(connected) = &client else {
                report.note(name, Err("not connected".into()));
                continue;
            };
            let outcome = match name {
                "read" => connected.read().await,
                "write" => connected.write().await,
                "browse" => connected.browse().await,
                "call" => connected.call().await,
                "dump" => connected.dump(options).await,
                "watch" => connected.watch(options).await,
                "cut" => connected.cut(options).await,
                _ => connected.subscribe().await,
            };
            // One step's broken connection shall not be the next one's failure.
            if outcome.is_err() {
                client = Client::connect(url, options).await.ok();
            }
            report.note(name, outcome);
        }
        if let Some(client) = client {
            let _ = client.session.disconnect().await;
        }
    };
    if tokio::time::timeout(patience, work)
        .await
        .is_err()
    {
        report.note("connect", Err(format!("gave up after {} s", patience.as_secs())));
    }
    let Report { steps, error } = report;
    let code = i32::from(error.is_some());
    println!(
        "{}",
        json!({"stack": "async-opcua", "version": VERSION, "steps": steps, "error": error})
    );
    code
}

#[derive(Default)]
struct Report {
    steps: Map<String, Value>,
    error: Option<String>,
}

impl Report {
    fn note(&mut self, name: &str, outcome: Step) {
        let entry = match outcome {
            Ok(mut entry) => {
                entry["ok"] = true.into();
                entry
            }
            Err(error) => {
                self.error.get_or_insert(error.clone());
                json!({"ok": false, "error": error})
            }
        };
        self.steps.insert(name.into(), entry);
    }
}

pub struct Client {
    pub session: Arc<Session>,
    index: u16,
    ms: f64,
}

impl Client {
    async fn connect(url: &str, options: &Options) -> Result<Self, String> {
        let own = match (options.get("--cert"), options.get("--key")) {
            (Some(cert), Some(key)) => (PathBuf::from(cert), PathBuf::from(key)),
            _ => identity(&options.pki(), "client"),
        };
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_default();
        let mut client = ClientBuilder::new()
            .application_name("bench")
            .application_uri(application_uri(&own.0).unwrap_or_default())
            .pki_dir(options.pki())
            .certificate_path(absolute(&own.0))
            .private_key_path(absolute(&own.1))
            .create_sample_keypair(false)
            .trust_server_certs(true)
            .verify_server_certs(false)
            // A client whose connection is cut on purpose comes back.
            .session_retry_limit(if options.get("--cut").is_some() { 20 } else { 0 })
            .session_retry_initial(Duration::from_millis(100))
            .request_timeout(Duration::from_secs(10))
            .max_array_length(1 << 24)
            .max_byte_string_length(1 << 24)
            .max_message_size(1 << 24)
            .max_chunk_count(1 << 12)
            .client()
            .map_err(|e| e.join(", "))?;

        let (policy, mode) = (
            options.get("--policy").unwrap_or("None"),
            options.get("--mode").unwrap_or("None"),
        );
        let uri = format!("http://opcfoundation.org/UA/SecurityPolicy#{policy}");
        let mut endpoint: EndpointDescription = client
            .get_server_endpoints_from_url(url)
            .await
            .map_err(|e| text(&e))?
            .into_iter()
            .find(|e| e.security_policy_uri.as_ref() == uri && mode_name(e.security_mode) == mode)
            .ok_or(format!("the server has no endpoint {policy} {mode}"))?;
        endpoint.endpoint_url = url.into();

        let token = match (options.get("--user"), options.get("--user-cert")) {
            (Some(user), _) => {
                IdentityToken::new_user_name(user, options.get("--password").unwrap_or_default())
            }
            (_, Some(cert)) => {
                IdentityToken::new_x509_path(cert, options.get("--user-key").unwrap_or_default())
                    .map_err(|e| text(&e))?
            }
            _ => IdentityToken::Anonymous,
        };
        let start = Instant::now();
        // The event loop carries every request; it ends when it cannot connect.
        let (session, mut events) = match options.get("--listen-reverse") {
            None => {
                let connected = client.connect_to_endpoint_directly(endpoint, token);
                let (session, events) = connected.map_err(|e| text(&e))?;
                (session, events.spawn())
            }
            Some(port) => {
                let port = port.parse().map_err(|e| format!("--listen-reverse: {e}"))?;
                let (mut store, ..) = CertificateStore::new_with_x509_data(
                    &options.pki(),
                    false,
                    Some(&absolute(&own.0)),
                    Some(&absolute(&own.1)),
                    None::<X509Data>,
                );
                store.set_skip_verify_certs(true);
                store.set_trust_unknown_certs(true);
                let here = SocketAddr::from(([127, 0, 0, 1], port));
                let built = client
                    .session_builder()
                    .with_connector(ReverseConnectionSource::new_address(here))
                    .user_identity_token(token)
                    .connect_to_endpoint_directly(endpoint)
                    .and_then(|it| it.build(Arc::new(RwLock::new(store))));
                let (session, events) = built.map_err(|e| text(&e))?;
                (session, events.spawn())
            }
        };
        tokio::select! {
            connected = session.wait_for_connection() => if !connected {
                return Err("the connection was closed".into());
            },
            ended = &mut events => return Err(match ended {
                Ok(status) => status.to_string(),
                Err(e) => e.to_string(),
            }),
        }
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let index = session
            .get_namespace_index(NAMESPACE)
            .await
            .map_err(|e| text(&e))?;
        Ok(Self { session, index, ms })
    }

    pub fn id(&self, number: u32) -> NodeId {
        NodeId::new(self.index, number)
    }

    async fn values(&self, numbers: &[u32]) -> Result<Vec<Variant>, String> {
        let nodes: Vec<_> = numbers
            .iter()
            .map(|n| ReadValueId::new(self.id(*n), AttributeId::Value))
            .collect();
        let results = within(self.session.read(&nodes, TimestampsToReturn::Both, 0.0)).await?;
        if results.len() != numbers.len() {
            return Err(format!(
                "{} results to {} nodes",
                results.len(),
                numbers.len()
            ));
        }
        let values = numbers.iter().zip(results);
        values
            .map(|(n, result)| match (result.status, result.value) {
                (Some(status), _) if !status.is_good() => Err(format!("i={n}: {status}")),
                (_, Some(value)) if value != Variant::Empty => Ok(value),
                _ => Err(format!("i={n}: no value")),
            })
            .collect()
    }

    async fn read(&self) -> Step {
        let (mut scalars, mut arrays) = (Map::new(), Map::new());
        for first in [1000, 1500] {
            let numbers: Vec<_> = (first..first + 500).collect();
            for (n, value) in numbers.iter().zip(self.values(&numbers).await?) {
                scalars.insert(format!("i={n}"), to_json(&value));
            }
        }
        // One by one: some servers do not split their answer, then the message names the culprit.
        for n in [3030, 3031, 3020, 3010, 3011, 3012, 3013, 3014] {
            let values = self.values(&[n]).await.map_err(|e| format!("i={n}: {e}"))?;
            let map = if n < 3030 { &mut arrays } else { &mut scalars };
            map.insert(
                format!("i={n}"),
                values.first().map_or(Value::Null, to_json),
            );
        }
        Ok(json!({"values": scalars, "arrays": arrays}))
    }

    async fn put(&self, values: &[(u32, Variant)]) -> Result<(), String> {
        let nodes: Vec<_> = values
            .iter()
            .map(|(n, value)| WriteValue {
                node_id: self.id(*n),
                attribute_id: AttributeId::Value as u32,
                // Neither status nor timestamps: many servers refuse to write those.
                value: DataValue::value_only(value.clone()),
                ..Default::default()
            })
            .collect();
        let results = within(self.session.write(&nodes)).await?;
        match results.iter().find(|status| !status.is_good()) {
            Some(status) => Err(status.to_string()),
            None => Ok(()),
        }
    }

    async fn write(&self) -> Step {
        let numbers = [1499, 1999];
        let wanted = [Variant::Double(0.5), Variant::Int32(-5)];
        let before = self.values(&numbers).await?;
        self.put(&[(1499, wanted[0].clone()), (1999, wanted[1].clone())])
            .await?;
        let after = self.values(&numbers).await?;
        let kept: Vec<_> = numbers.into_iter().zip(before).collect();
        self.put(&kept).await?;
        match after == wanted {
            true => Ok(json!({})),
            false => Err(format!("wrote 0.5 and -5, read {after:?}")),
        }
    }

    async fn browse(&self) -> Step {
        let mut seen = HashSet::new();
        let mut queue = vec![NodeId::from(ObjectId::ObjectsFolder)];
        while let Some(node) = queue.pop() {
            let description = BrowseDescription {
                node_id: node,
                browse_direction: BrowseDirection::Forward,
                reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
                include_subtypes: true,
                node_class_mask: 0,
                result_mask: 63,
            };
            let mut page = first(within(self.session.browse(&[description], 0, None)).await?)?;
            loop {
                for r in page.references.take().unwrap_or_default() {
                    let id = r.node_id.node_id;
                    if id.namespace == self.index
                        && seen.insert(id.clone())
                        && r.node_class == NodeClass::Object
                    {
                        queue.push(id);
                    }
                }
                if page.continuation_point.is_null_or_empty() {
                    break;
                }
                let next = self
                    .session
                    .browse_next(false, std::slice::from_ref(&page.continuation_point));
                page = first(within(next).await?)?;
            }
        }
        match seen.len() {
            count @ 1010.. => Ok(json!({"count": count})),
            count => Err(format!(
                "found {count} nodes of {NAMESPACE}, want 1010 or more"
            )),
        }
    }

    async fn call(&self) -> Step {
        let request = CallMethodRequest {
            object_id: self.id(4001),
            method_id: self.id(4000),
            input_arguments: Some(vec![Variant::Double(12.5)]),
        };
        let result = within(self.session.call_one(request)).await?;
        if !result.status_code.is_good() {
            return Err(result.status_code.to_string());
        }
        match result.output_arguments.unwrap_or_default().as_slice() {
            [Variant::Double(value)] if *value == 12.5 => Ok(json!({"result": value})),
            other => Err(format!("echo(12.5) gave {other:?}")),
        }
    }

    async fn subscribe(&self) -> Step {
        let (sender, receiver) = mpsc::channel();
        let callback = DataChangeCallback::new(move |value, _| {
            if let Some(Variant::UInt32(n)) = value.value {
                let _ = sender.send(n);
            }
        });
        let interval = Duration::from_millis(100);
        let subscription = within(
            self.session
                .create_subscription(interval, 1000, 10, 0, 0, true, callback),
        )
        .await?;
        let item = MonitoredItemCreateRequest::new(
            ReadValueId::new(self.id(3030), AttributeId::Value),
            MonitoringMode::Reporting,
            MonitoringParameters {
                client_handle: 1,
                sampling_interval: 100.0,
                queue_size: 10,
                discard_oldest: true,
                ..Default::default()
            },
        );
        let both = TimestampsToReturn::Both;
        let created = within(
            self.session
                .create_monitored_items(subscription, both, vec![item]),
        )
        .await?;
        let status = created.first().map(|c| c.result.status_code);
        if status != Some(StatusCode::Good) {
            return Err(format!("CreateMonitoredItems: {status:?}"));
        }
        let mut values = Vec::new();
        let end = Instant::now() + Duration::from_secs(5);
        while values.len() < 5 && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(20)).await;
            values.extend(receiver.try_iter());
        }
        let _ = within(self.session.delete_subscription(subscription)).await;
        match values.len() >= 3 && values.is_sorted_by(|a, b| a < b) {
            true => Ok(json!({"notifications": values.len(), "values": values})),
            false => Err(format!("notified of {values:?} in 5 s")),
        }
    }
}

/// A request whose connection breaks is sometimes never answered by the stack.
pub async fn within<T>(
    request: impl Future<Output = Result<T, impl Into<Error>>>,
) -> Result<T, String> {
    match tokio::time::timeout(Duration::from_secs(10), request).await {
        Ok(outcome) => outcome.map_err(|e| text(&e.into())),
        Err(_) => Err("no answer in 10 s".into()),
    }
}

pub fn first(results: Vec<BrowseResult>) -> Result<BrowseResult, String> {
    match results.into_iter().next() {
        Some(result) if result.status_code.is_good() => Ok(result),
        Some(result) => Err(result.status_code.to_string()),
        None => Err("no result".into()),
    }
}

pub fn text(error: &Error) -> String {
    format!("{}: {error}", error.status())
}

fn mode_name(mode: MessageSecurityMode) -> &'static str {
    match mode {
        MessageSecurityMode::None => "None",
        MessageSecurityMode::Sign => "Sign",
        MessageSecurityMode::SignAndEncrypt => "SignAndEncrypt",
        _ => "",
    }
}

/// A scalar as it is; a list as its length and the sum of its elements modulo 65536.
fn to_json(value: &Variant) -> Value {
    let list = |length: usize, sum: i64| json!([length, sum & 0xffff]);
    match value {
        Variant::Double(x) => json!(x),
        Variant::Int32(x) => json!(x),
        Variant::UInt32(x) => json!(x),
        Variant::ByteString(bytes) => {
            let bytes = bytes.as_ref();
            list(bytes.len(), bytes.iter().map(|b| i64::from(*b)).sum())
        }
        Variant::Array(array) => {
            let element = |v: &Variant| match v {
                Variant::Byte(x) => i64::from(*x),
                Variant::Int16(x) => i64::from(*x),
                _ => 0,
            };
            list(array.values.len(), array.values.iter().map(element).sum())
        }
        _ => Value::Null,
    }
}

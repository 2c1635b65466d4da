//! The bench address space.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opcua::crypto::{CertificateStore, SecurityPolicy, Thumbprint};
use opcua::nodes::{AccessLevel, MethodBuilder, ObjectBuilder, VariableBuilder};
use opcua::server::authenticator::{AuthManager, DefaultAuthenticator, Password, UserToken};
use opcua::server::diagnostics::NamespaceMetadata;
use opcua::server::node_manager::memory::{SimpleNodeManager, simple_node_manager};
use opcua::server::{
    ANONYMOUS_USER_TOKEN_ID, ReverseConnectTargetConfig, ServerBuilder, ServerEndpoint, ServerHandle, ServerUserToken,
    SubscriptionCache,
};
use opcua::types::{
    Argument, Array, DataTypeId, DataValue, Error, MessageSecurityMode, NodeId, ObjectId,
    ObjectTypeId, StatusCode, UAString, UserTokenPolicy, UserTokenType, Variant,
    VariantScalarTypeId,
};

use crate::{NAMESPACE, Options, VERSION, application_uri, fail, identity};

pub async fn run(options: &Options) {
    let port: u16 = number(options, "--port").unwrap_or(4840);
    let (cert, key) = identity(&options.pki(), "server");
    let trusted = options
        .get("--strict")
        .map(|_| read_trusted(&options.pki()));
    let mut builder = ServerBuilder::new()
        .application_name("bench")
        .application_uri(application_uri(&cert).unwrap_or_default())
        .product_uri("urn:uaperf:peers:async-opcua")
        .build_info(opcua::types::BuildInfo {
            product_name: "async-opcua".into(),
            software_version: VERSION.into(),
            ..Default::default()
        })
        .host("127.0.0.1")
        .port(port)
        .discovery_urls(vec![format!("opc.tcp://127.0.0.1:{port}")])
        .pki_dir(options.pki())
        .certificate_path(&cert)
        .private_key_path(key)
        .create_sample_keypair(false)
        .trust_client_certs(trusted.is_none())
        .with_authenticator(Arc::new(Users::new(users(&cert), trusted)))
        .with_node_manager(simple_node_manager(
            NamespaceMetadata {
                namespace_uri: NAMESPACE.into(),
                ..Default::default()
            },
            "bench",
        ));
    // Endpoints are checked against the users that the builder knows.
    for (name, user) in users(&cert) {
        builder = builder.add_user_token(name, user);
    }
    for (name, endpoint) in endpoints() {
        builder = builder.add_endpoint(name, endpoint);
    }
    let (server, handle) = match raise_limits(builder).build() {
        Ok(built) => built,
        Err(e) => fail(&e),
    };
    let Some(bench) = Bench::new(&handle) else {
        fail("no namespace urn:bench");
    };
    bench.fill();
    let bench = Arc::new(bench);
    tokio::spawn(Arc::clone(&bench).count(3030, Duration::from_millis(100)));
    tokio::spawn(Arc::clone(&bench).count(3031, Duration::from_secs(1)));
    if let Some(us) = number(options, "--update-us").filter(|us| *us > 0) {
        tokio::spawn(bench.renew(Duration::from_micros(us)));
    }

    if let Some(address) = number(options, "--reverse") {
        handle.add_reverse_connect_target(ReverseConnectTargetConfig {
            address,
            endpoint_url: format!("opc.tcp://127.0.0.1:{port}"),
            id: "client".into(),
        });
    }
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        // Whoever started this server is gone; nobody waits for a polite end.
        std::process::exit(0);
    });
    let listener = match tokio::net::TcpListener::bind(("127.0.0.1", port)).await {
        Ok(listener) => listener,
        Err(e) => fail(&format!("port {port}: {e}")),
    };
    println!("READY opc.tcp://127.0.0.1:{port}");
    // SIGTERM ends the process by default.
    if let Err(e) = server.run_with(listener).await {
        fail(&e);
    }
}

fn number<T: std::str::FromStr>(options: &Options, name: &str) -> Option<T> {
    let text = options.get(name)?;
    Some(
        text.parse()
            .unwrap_or_else(|_| fail(&format!("{name}: {text}"))),
    )
}

// ---------------------------------------------------------------- security

/// Every policy and mode, each with all tokens.
fn endpoints() -> Vec<(String, ServerEndpoint)> {
    let users = ["bench", "anyone", ANONYMOUS_USER_TOKEN_ID].map(str::to_owned);
    let mut none = ServerEndpoint::new_none("/", &users);
    // A password shall not cross the wire in the clear on the unsecured endpoint either.
    none.password_security_policy = Some(SecurityPolicy::Basic256Sha256.to_str().into());
    let mut list = vec![("None".to_owned(), none)];
    for policy in [
        SecurityPolicy::Basic128Rsa15,
        SecurityPolicy::Basic256,
        SecurityPolicy::Basic256Sha256,
        SecurityPolicy::Aes128Sha256RsaOaep,
        SecurityPolicy::Aes256Sha256RsaPss,
    ] {
        for mode in [
            MessageSecurityMode::Sign,
            MessageSecurityMode::SignAndEncrypt,
        ] {
            list.push((
                format!("{} {mode:?}", policy.to_str()),
                ServerEndpoint::new("/", policy, mode, &users),
            ));
        }
    }
    list
}

/// The stack looks for a client's certificate directly in `trusted/`, under a name of its own;
/// the bench puts certificates into `trusted/certs/` under any name.
fn read_trusted(pki: &Path) -> Vec<Thumbprint> {
    let files = |below: &str| std::fs::read_dir(pki.join(below)).into_iter().flatten();
    for old in files("trusted").flatten().filter(|f| f.path().is_file()) {
        let _ = std::fs::remove_file(old.path());
    }
    let mut thumbprints = Vec::new();
    for file in files("trusted/certs").flatten() {
        if let Ok(cert) = CertificateStore::read_cert(&file.path()) {
            let name = CertificateStore::cert_file_name(&cert);
            let _ = std::fs::copy(file.path(), pki.join("trusted").join(&name));
            // Once rejected is rejected for ever, otherwise.
            let _ = std::fs::remove_file(pki.join("rejected").join(&name));
            thumbprints.push(cert.thumbprint());
        }
    }
    thumbprints
}

/// The stack's own authenticator, but for two things: any X.509 user is welcome unless there is
/// a list of trusted ones, and tokens name the policy that they are to be secured with.
struct Users {
    inner: DefaultAuthenticator,
    trusted: Option<Vec<Thumbprint>>,
}

impl Users {
    fn new(users: BTreeMap<String, ServerUserToken>, trusted: Option<Vec<Thumbprint>>) -> Self {
        Self {
            inner: DefaultAuthenticator::new(users),
            trusted,
        }
    }
}

/// `anyone` has some certificate, so that the stack announces X.509 tokens.
fn users(cert: &Path) -> BTreeMap<String, ServerUserToken> {
    let anyone = ServerUserToken {
        user: "anyone".into(),
        pass: None,
        x509: Some(cert.to_string_lossy().into_owned()),
        thumbprint: None,
        read_diagnostics: true,
    };
    let bench = ServerUserToken::user_pass("bench", "bench");
    [("anyone".to_owned(), anyone), ("bench".to_owned(), bench)].into()
}

#[async_trait::async_trait]
impl AuthManager for Users {
    async fn authenticate_anonymous_token(&self, endpoint: &ServerEndpoint) -> Result<(), Error> {
        self.inner.authenticate_anonymous_token(endpoint).await
    }

    async fn authenticate_username_identity_token(
        &self,
        endpoint: &ServerEndpoint,
        username: &str,
        password: &Password,
    ) -> Result<UserToken, Error> {
        self.inner
            .authenticate_username_identity_token(endpoint, username, password)
            .await
    }

    async fn authenticate_x509_identity_token(
        &self,
        _endpoint: &ServerEndpoint,
        thumbprint: &Thumbprint,
    ) -> Result<UserToken, Error> {
        match &self.trusted {
            Some(trusted) if !trusted.contains(thumbprint) => Err(Error::new(
                StatusCode::BadIdentityTokenRejected,
                "certificate not trusted",
            )),
            _ => Ok(UserToken("anyone".into())),
        }
    }

    fn user_token_policies(&self, endpoint: &ServerEndpoint) -> Vec<UserTokenPolicy> {
        let mut list = self.inner.user_token_policies(endpoint);
        for token in &mut list {
            if token.token_type != UserTokenType::Anonymous {
                let policy = endpoint.password_security_policy();
                token.security_policy_uri = UAString::from(policy.to_uri());
            }
        }
        list
    }
}

/// The defaults are small: 4 Publish requests per subscription, queues of 10 values, 20 sessions.
fn raise_limits(mut builder: ServerBuilder) -> ServerBuilder {
    let limits = builder.limits_mut();
    limits.max_array_length = 1 << 24;
    limits.max_string_length = 1 << 24;
    limits.max_byte_string_length = 1 << 24;
    limits.max_message_size = 1 << 24;
    limits.max_chunk_count = 1 << 12;
    limits.max_sessions = 2000;
    let operational = &mut limits.operational;
    operational.max_nodes_per_read = 100_000;
    operational.max_nodes_per_write = 100_000;
    operational.max_nodes_per_browse = 10_000;
    operational.max_nodes_per_register_nodes = 100_000;
    operational.max_nodes_per_method_call = 10_000;
    operational.max_monitored_items_per_call = 100_000;
    operational.max_references_per_browse_node = 10_000;
    operational.max_subscriptions_per_call = 1000;
    let subscriptions = &mut limits.subscriptions;
    subscriptions.max_subscriptions_per_session = 1000;
    subscriptions.max_pending_publish_requests = 2000;
    subscriptions.max_publish_requests_per_subscription = 2000;
    subscriptions.min_sampling_interval_ms = 10.0;
    subscriptions.min_publishing_interval_ms = 10.0;
    subscriptions.max_monitored_items_per_sub = 100_000;
    subscriptions.max_monitored_item_queue_size = 10_000;
    subscriptions.max_queued_notifications = 1000;
    // Subscriptions are looked at in these steps (100 ms by default): no publishing interval can
    // be finer, and all of them become multiples of it.
    builder.subscription_poll_interval_ms(10)
}

// ---------------------------------------------------------------- address space

struct Bench {
    nodes: Arc<SimpleNodeManager>,
    subscriptions: Arc<SubscriptionCache>,
    index: u16,
}

impl Bench {
    fn new(handle: &ServerHandle) -> Option<Self> {
        Some(Self {
            nodes: handle.node_managers().get_of_type::<SimpleNodeManager>()?,
            subscriptions: handle.subscriptions().clone(),
            index: handle.get_namespace_index(NAMESPACE)?,
        })
    }

    fn id(&self, number: u32) -> NodeId {
        NodeId::new(self.index, number)
    }

    fn fill(&self) {
        let bytes = |n: usize| (0..n).map(|k| Variant::Byte(k as u8)).collect();
        let words = (0..512).map(Variant::Int16).collect();
        {
            let space = self.nodes.address_space();
            let mut space = space.write();
            ObjectBuilder::new(&self.id(1), "bench", "bench")
                .organized_by(ObjectId::ObjectsFolder)
                .has_type_definition(ObjectTypeId::FolderType)
                .insert(&mut *space);
            let mut add = |number, value: Variant, data_type: DataTypeId| {
                let name = format!("v{number}");
                let mut builder = VariableBuilder::new(&self.id(number), &name, &name)
                    .organized_by(self.id(1))
                    .has_type_definition(opcua::types::VariableTypeId::BaseDataVariableType)
                    .data_type(data_type)
                    .access_level(AccessLevel::CURRENT_READ | AccessLevel::CURRENT_WRITE)
                    .user_access_level(AccessLevel::CURRENT_READ | AccessLevel::CURRENT_WRITE);
                builder = match &value {
                    Variant::Array(a) => builder
                        .value_rank(1)
                        .array_dimensions(&[a.values.len() as u32]),
                    _ => builder.value_rank(-1),
                };
                builder.value(value).insert(&mut *space);
            };
            for i in 1000..2000 {
                let data_type = match i {
                    ..1500 => DataTypeId::Double,
                    _ => DataTypeId::Int32,
                };
                add(i, scalar(i, 0), data_type);
            }
            for (number, length) in (3010..).zip([10, 10_000, 20_000, 65_535, 102_400]) {
                let array = array(VariantScalarTypeId::Byte, bytes(length));
                add(number, array, DataTypeId::Byte);
            }
            let array = array(VariantScalarTypeId::Int16, words);
            add(3020, array, DataTypeId::Int16);
            add(3030, Variant::UInt32(0), DataTypeId::UInt32);
            add(3031, Variant::UInt32(0), DataTypeId::UInt32);

            ObjectBuilder::new(&self.id(4001), "methods", "methods")
                .organized_by(self.id(1))
                .has_type_definition(ObjectTypeId::BaseObjectType)
                .insert(&mut *space);
            let value = || {
                [Argument {
                    name: "value".into(),
                    data_type: DataTypeId::Double.into(),
                    value_rank: -1,
                    ..Default::default()
                }]
            };
            MethodBuilder::new(&self.id(4000), "echo", "echo")
                .component_of(self.id(4001))
                .input_args(&mut *space, &self.id(4002), &value())
                .output_args(&mut *space, &self.id(4003), &value())
                .executable(true)
                .user_executable(true)
                .insert(&mut *space);
        }
        // Number and types of the arguments are ours to check.
        self.nodes
            .inner()
            .add_method_callback(self.id(4000), |arguments| match arguments {
                [value @ Variant::Double(_)] => Ok(vec![value.clone()]),
                [] => Err(StatusCode::BadArgumentsMissing),
                [_] => Err(StatusCode::BadInvalidArgument),
                _ => Err(StatusCode::BadTooManyArguments),
            });
    }

    async fn count(self: Arc<Self>, number: u32, every: Duration) {
        let id = self.id(number);
        let mut clock = tokio::time::interval(every);
        for n in 0u32.. {
            clock.tick().await;
            let value = DataValue::new_now(n);
            let _ = self.nodes.set_value(&self.subscriptions, &id, None, value);
        }
    }

    async fn renew(self: Arc<Self>, every: Duration) {
        let ids: Vec<_> = (1000..2000).map(|i| (i, self.id(i))).collect();
        let mut clock = tokio::time::interval(every);
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for n in 0.. {
            clock.tick().await;
            let values = ids
                .iter()
                .map(|(i, id)| (id, None, DataValue::new_now(scalar(*i, n))));
            let _ = self.nodes.set_values(&self.subscriptions, values);
        }
    }
}

/// The value of a scalar after `n` updates.
fn scalar(number: u32, n: i32) -> Variant {
    let value = number as i32 + n;
    match number {
        ..1500 => Variant::Double(value.into()),
        _ => Variant::Int32(value),
    }
}

fn array(of: VariantScalarTypeId, values: Vec<Variant>) -> Variant {
    match Array::new(of, values) {
        Ok(array) => Variant::Array(Box::new(array)),
        Err(e) => fail(&format!("array: {e}")),
    }
}

//! TLS under all of it, by rustls over aws-lc-rs: versions 1.2 and 1.3, and certificates judged by whoever has an
//! opinion of OPC UA's.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{
    CertificateError, ClientConfig, CommonState, DigitallySignedStruct, HandshakeKind, OtherError,
    ProtocolVersion, ServerConfig, SignatureScheme,
};
use thiserror::Error;
use zeroize::Zeroizing;

/// The protocol inside (RFC 7301).
const ALPN: &[u8] = b"http/1.1";
/// What a record adds to its content: header, type, tag and nonce of any cipher.
const PER_RECORD: usize = 64;
/// The most that a record has of content.
const RECORD: usize = 16 * 1024;

/// Why a server's certificate is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Rejected {
    /// A status code of OPC UA.
    pub status: u32,
    /// Words for a person.
    pub reason: String,
    /// What the certificate is known by; none of one that cannot be read.
    pub thumbprint: Option<String>,
}

/// Whoever says whether a certificate is accepted.
pub trait Judge: Send + Sync + fmt::Debug {
    /// The chain as the server sent it, one DER after another, its own first.
    ///
    /// # Errors
    /// It is not, for this reason.
    fn judge(&self, chain: &[u8]) -> Result<(), Rejected>;
}

/// What goes wrong with TLS.
#[derive(Debug, Clone, Error)]
pub enum TlsError {
    /// The server's certificate was refused by who judges it.
    #[error("the server's TLS certificate is not accepted: {0}")]
    Rejected(Rejected),
    /// Everything else.
    #[error("TLS: {0}")]
    Rustls(rustls::Error),
    /// What the URL names is no host that TLS knows.
    #[error("{0:?} is no host that TLS can ask for")]
    Name(String),
    /// Certificate or key are of no use to TLS.
    #[error("certificate and key cannot be used for TLS: {0}")]
    Key(String),
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        if let rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(other))) =
            &error
            && let Some(rejected) = other.downcast_ref::<Rejected>()
        {
            return Self::Rejected(rejected.clone());
        }
        Self::Rustls(error)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// What a client shows of itself.
#[derive(Clone)]
pub struct ClientCertificate {
    /// Its own certificate first, then those above it.
    pub chain: Vec<Vec<u8>>,
    /// Its key in PKCS #8.
    pub pkcs8: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate").finish_non_exhaustive()
    }
}

/// How clients secure themselves; one for all connections to a server, which are resumed by it.
#[derive(Debug, Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    judge: Arc<dyn Judge>,
}

impl TlsClient {
    /// Servers' certificates are judged by `judge`. With `resumes`, later connections go on with keys of earlier ones; a server
    /// does not show its certificate then, and the one that it showed before is judged anew.
    ///
    /// # Errors
    /// The cryptography that is linked has nothing for it.
    pub fn new(judge: Arc<dyn Judge>, resumes: bool) -> Result<Self, TlsError> {
        Self::showing(judge, resumes, None)
    }

    /// The same for a client that shows a certificate of its own, if the server asks for one.
    ///
    /// # Errors
    /// Certificate and key are of no use to TLS, or not of each other.
    pub fn showing(
        judge: Arc<dyn Judge>,
        resumes: bool,
        own: Option<&ClientCertificate>,
    ) -> Result<Self, TlsError> {
        let provider = provider();
        let verifier = Verifier {
            judge: Arc::clone(&judge),
            provider: Arc::clone(&provider),
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match own {
            None => config.with_no_client_auth(),
            Some(own) => {
                let chain = own.chain.iter().cloned().map(CertificateDer::from);
                let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.pkcs8.to_vec()));
                config
                    .with_client_auth_cert(chain.collect(), key)
                    .map_err(|error| TlsError::Key(error.to_string()))?
            }
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        if !resumes {
            config.resumption = Resumption::disabled();
        }
        Ok(Self {
            config: Arc::new(config),
            judge,
        })
    }

    /// The same for another protocol inside, which servers are not asked for.
    #[must_use]
    pub fn without_http(mut self) -> Self {
        Arc::make_mut(&mut self.config).alpn_protocols.clear();
        self
    }

    pub(crate) fn connect(&self, host: &str) -> Result<Tls, TlsError> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| TlsError::Name(host.to_owned()))?;
        let connection = UnbufferedClientConnection::new(Arc::clone(&self.config), name)?;
        let judge = Some(Arc::clone(&self.judge));
        Ok(Tls::Client(Box::new(connection), judge))
    }
}

/// How a server secures its connections.
#[derive(Debug, Clone)]
pub struct TlsServer(Arc<ServerConfig>);

impl TlsServer {
    /// With this chain of certificates, the server's own first, and its key in PKCS #8.
    ///
    /// # Errors
    /// They are of no use to TLS, or not of each other.
    pub fn new(chain: Vec<Vec<u8>>, pkcs8: &[u8], resumes: bool) -> Result<Self, TlsError> {
        let chain = chain.into_iter().map(CertificateDer::from).collect();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pkcs8.to_vec()));
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| TlsError::Key(error.to_string()))?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        if !resumes {
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Self(Arc::new(config)))
    }

    pub(crate) fn accept(&self) -> Result<Tls, TlsError> {
        let connection = UnbufferedServerConnection::new(Arc::clone(&self.0))?;
        Ok(Tls::Server(Box::new(connection)))
    }
}

/// What TLS agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secured {
    /// `TLS 1.3` or `TLS 1.2`.
    pub version: &'static str,
    /// The cipher suite, by its name in the registry of IANA.
    pub cipher: String,
    /// It went on with keys of an earlier connection.
    pub resumed: bool,
}

/// One end of TLS.
///
/// Its methods are given what came and is not done with, all of them, always: rustls remembers places in it, and a slice
/// that has not got them makes it panic.
pub enum Tls {
    /// With who judges the server's certificate, until the handshake is over.
    Client(Box<UnbufferedClientConnection>, Option<Arc<dyn Judge>>),
    Server(Box<UnbufferedServerConnection>),
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.secured()).finish()
    }
}

/// What TLS wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// To be asked again.
    Again,
    /// Bytes of the peer; the handshake is not over.
    Handshake,
    /// Bytes of the peer, or bytes to protect.
    Ready,
    /// The peer will not send any more.
    Closed,
}

impl Tls {
    /// Goes one step on with what came. How many bytes of it are done with, and what follows; what is to be sent is
    /// appended to `out`, and what the peer said is given to `take`.
    pub fn advance(
        &mut self,
        came: &mut [u8],
        out: &mut Vec<u8>,
        take: impl FnMut(&[u8]),
    ) -> (usize, Result<Turn, rustls::Error>) {
        match self {
            Self::Client(tls, judge) => {
                let (done, turn) = step(tls.process_tls_records(came), out, take);
                // Before anything that the server said is heard: what ends the handshake is to be sent first.
                let judge = judge.take_if(|_| !tls.is_handshaking());
                let judged = judge.map_or(Ok(()), |it| judge_resumed(tls, &*it));
                (done, turn.and_then(|turn| judged.map(|()| turn)))
            }
            Self::Server(tls) => step(tls.process_tls_records(came), out, take),
        }
    }

    /// Protects these bytes and appends that to `out`. How many bytes of what came are done with.
    pub fn seal(
        &mut self,
        came: &mut [u8],
        plain: &[u8],
        out: &mut Vec<u8>,
    ) -> (usize, Result<(), rustls::Error>) {
        let mut done = 0;
        loop {
            let came = came.get_mut(done..).unwrap_or_default();
            let (count, sealed) = match self {
                Self::Client(tls, _) => seal_now(tls.process_tls_records(came), plain, out),
                Self::Server(tls) => seal_now(tls.process_tls_records(came), plain, out),
            };
            done += count;
            match sealed {
                Ok(true) => return (done, Ok(())),
                Ok(false) => {}
                Err(error) => return (done, Err(error)),
            }
        }
    }

    /// Appends that nothing more comes.
    pub fn close(&mut self, came: &mut [u8], out: &mut Vec<u8>) {
        match self {
            Self::Client(tls, _) => close_now(tls.process_tls_records(came), out),
            Self::Server(tls) => close_now(tls.process_tls_records(came), out),
        }
    }

    fn state(&self) -> &CommonState {
        match self {
            Self::Client(tls, _) => tls,
            Self::Server(tls) => tls,
        }
    }

    /// What was agreed on, once it was.
    pub fn secured(&self) -> Option<Secured> {
        let state = self.state();
        let version = match state.protocol_version()? {
            ProtocolVersion::TLSv1_3 => "TLS 1.3",
            ProtocolVersion::TLSv1_2 => "TLS 1.2",
            _ => "TLS",
        };
        let suite = state.negotiated_cipher_suite()?.suite();
        let cipher = suite.as_str().unwrap_or("an unnamed cipher suite");
        Some(Secured {
            version,
            // As the registry of IANA calls those of 1.3.
            cipher: cipher.replace("TLS13_", "TLS_"),
            resumed: state.handshake_kind() == Some(HandshakeKind::Resumed),
        })
    }
}

/// What a judge says, as rustls takes it.
fn judged(judge: &dyn Judge, chain: &[u8]) -> Result<(), rustls::Error> {
    judge.judge(chain).map_err(|rejected| {
        let other = OtherError(Arc::new(rejected));
        CertificateError::Other(other).into()
    })
}

/// A server that goes on with earlier keys shows no certificate (RFC 8446, 2.2): the one that it showed then may not be
/// trusted any more.
fn judge_resumed(tls: &CommonState, judge: &dyn Judge) -> Result<(), rustls::Error> {
    if tls.handshake_kind() != Some(HandshakeKind::Resumed) {
        return Ok(());
    }
    let chain = tls.peer_certificates().unwrap_or_default();
    let chain: Vec<&[u8]> = chain.iter().map(AsRef::as_ref).collect();
    judged(judge, &chain.concat())
}

fn step<D>(
    status: UnbufferedStatus<'_, '_, D>,
    out: &mut Vec<u8>,
    mut take: impl FnMut(&[u8]),
) -> (usize, Result<Turn, rustls::Error>) {
    let mut done = status.discard;
    let state = match status.state {
        Ok(state) => state,
        Err(error) => return (done, Err(error)),
    };
    let turn = match state {
        ConnectionState::ReadTraffic(mut traffic) => {
            while let Some(record) = traffic.next_record() {
                match record {
                    Ok(record) => {
                        done += record.discard;
                        take(record.payload);
                    }
                    Err(error) => return (done, Err(error)),
                }
            }
            Turn::Again
        }
        ConnectionState::EncodeTlsData(mut data) => {
            append(out, RECORD / 4, |place| match data.encode(place) {
                Ok(length) => Ok(length),
                Err(EncodeError::InsufficientSize(size)) => Err(size.required_size),
                Err(EncodeError::AlreadyEncoded) => Ok(0),
            });
            Turn::Again
        }
        ConnectionState::TransmitTlsData(data) => {
            data.done();
            Turn::Again
        }
        ConnectionState::BlockedHandshake => Turn::Handshake,
        ConnectionState::WriteTraffic(_) => Turn::Ready,
        ConnectionState::PeerClosed | ConnectionState::Closed => Turn::Closed,
        // Early data is never agreed to.
        _ => Turn::Again,
    };
    (done, Ok(turn))
}

/// Appends what `write` writes into so much room, or into as much as it asks for.
fn append(
    out: &mut Vec<u8>,
    room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, usize>,
) {
    let begin = out.len();
    let mut room = room;
    loop {
        out.resize(begin + room, 0);
        match write(out.get_mut(begin..).unwrap_or_default()) {
            Ok(length) => return out.truncate(begin + length),
            Err(more) if more > room => room = more,
            Err(_) => return out.truncate(begin),
        }
    }
}

/// Whether it was sealed: not as long as something else has to be sent first.
fn seal_now<D>(
    status: UnbufferedStatus<'_, '_, D>,
    plain: &[u8],
    out: &mut Vec<u8>,
) -> (usize, Result<bool, rustls::Error>) {
    let done = status.discard;
    let state = match status.state {
        Ok(state) => state,
        Err(error) => return (done, Err(error)),
    };
    if let ConnectionState::WriteTraffic(mut traffic) = state {
        let room = plain.len() + plain.len().div_ceil(RECORD).max(1) * PER_RECORD;
        let mut sealed = Ok(true);
        append(out, room, |place| match traffic.encrypt(plain, place) {
            Ok(length) => Ok(length),
            Err(EncryptError::InsufficientSize(size)) => Err(size.required_size),
            Err(EncryptError::EncryptExhausted) => {
                sealed = Err(rustls::Error::EncryptError);
                Ok(0)
            }
        });
        return (done, sealed);
    }
    let status = UnbufferedStatus {
        discard: done,
        state: Ok(state),
    };
    let mut unread = false;
    let (done, turn) = step(status, out, |record| unread |= !record.is_empty());
    let sealed = match turn {
        // Whoever seals has read all there was.
        _ if unread => Err(rustls::Error::General("something was not read".into())),
        Ok(Turn::Again) => Ok(false),
        Ok(Turn::Handshake) => Err(rustls::Error::HandshakeNotComplete),
        Ok(Turn::Ready | Turn::Closed) => Ok(true),
        Err(error) => Err(error),
    };
    (done, sealed)
}

fn close_now<D>(status: UnbufferedStatus<'_, '_, D>, out: &mut Vec<u8>) {
    if let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state {
        append(out, PER_RECORD, |place| {
            match traffic.queue_close_notify(place) {
                Ok(length) => Ok(length),
                Err(EncryptError::InsufficientSize(size)) => Err(size.required_size),
                Err(EncryptError::EncryptExhausted) => Ok(0),
            }
        });
    }
}

/// Checks the signatures of the handshake, and asks for an opinion of the certificate.
#[derive(Debug)]
struct Verifier {
    judge: Arc<dyn Judge>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let mut chain = end_entity.to_vec();
        for certificate in intermediates {
            chain.extend_from_slice(certificate);
        }
        judged(&*self.judge, &chain).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

//! Whether a certificate was revoked: who is asked for it, what was found, and what follows.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::certificate::Certificate;
use crate::crl::RevocationList;
use crate::moment::Moment;
use crate::ocsp::{OcspRequest, OcspResponse, Standing};
use crate::refusal::Reason;

/// Where it is looked up whether a certificate was revoked, and what follows if nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Revocation {
    /// Where.
    pub source: Source,
    /// What follows if nobody knows.
    pub fail: Fail,
}

/// Where it is looked up whether a certificate was revoked. That a list at hand takes it back is always enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Source {
    /// In the revocation lists of the folder. Nobody is asked.
    #[default]
    Offline,
    /// The same, and the folder is read anew each time.
    Reread,
    /// In the lists of the folder and in what was answered before, as long as that is current; else the authority is asked.
    Cached,
    /// The authority is asked each time; the lists of the folder count if it does not answer.
    Online,
    /// A certificate manager (Part 12, 7.9.11) is asked each time; the lists of the folder count if it does not answer.
    Manager,
    /// In the lists of the folder and in what the certificate manager answered before, as long as that is current; else it
    /// is asked.
    ManagerCached,
}

/// What follows if nobody knows whether a certificate was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Fail {
    /// It is refused.
    #[default]
    Hard,
    /// It is taken all the same.
    Soft,
}

impl Source {
    /// Those that need no certificate manager.
    pub const ALL: [Self; 4] = [Self::Offline, Self::Reread, Self::Cached, Self::Online];

    /// Whether authorities or a certificate manager may be asked.
    pub fn asks(self) -> bool {
        !matches!(self, Self::Offline | Self::Reread)
    }

    /// Whether it is a certificate manager that is asked.
    pub fn is_manager(self) -> bool {
        matches!(self, Self::Manager | Self::ManagerCached)
    }

    /// Whether answers are kept as long as they are current.
    pub fn keeps(self) -> bool {
        matches!(self, Self::Cached | Self::ManagerCached)
    }

    /// Whether somebody is asked whatever is at hand.
    pub fn asks_each_time(self) -> bool {
        matches!(self, Self::Online | Self::Manager)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Offline => "offline",
            Self::Reread => "reread",
            Self::Cached => "cached",
            Self::Online => "online",
            Self::Manager => "gds",
            Self::ManagerCached => "gds-cached",
        })
    }
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hard => "hard",
            Self::Soft => "soft",
        })
    }
}

/// A text that names none of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("bad {what}: {text:?} (want {want})")]
pub struct UnknownRevocation {
    what: &'static str,
    text: String,
    want: &'static str,
}

impl std::str::FromStr for Source {
    type Err = UnknownRevocation;

    fn from_str(text: &str) -> Result<Self, UnknownRevocation> {
        let mut all = Self::ALL.into_iter();
        all.find(|it| it.to_string() == text)
            .ok_or_else(|| UnknownRevocation {
                what: "revocation",
                text: text.to_owned(),
                want: "offline, reread, cached or online",
            })
    }
}

impl std::str::FromStr for Fail {
    type Err = UnknownRevocation;

    fn from_str(text: &str) -> Result<Self, UnknownRevocation> {
        match text {
            "hard" => Ok(Self::Hard),
            "soft" => Ok(Self::Soft),
            _ => Err(UnknownRevocation {
                what: "failure of revocation",
                text: text.to_owned(),
                want: "hard or soft",
            }),
        }
    }
}

/// What an authority is to be asked, or the certificate manager.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    /// Where, as it stands in a certificate; empty for the certificate manager, whom the caller knows.
    pub url: String,
    /// What.
    pub ask: Ask,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ask {
    /// Its revocation list: HTTP GET.
    List,
    /// The status of a certificate by OCSP: HTTP POST of these bytes as `application/ocsp-request`.
    Status(Vec<u8>),
    /// What the certificate manager thinks of the certificate with this DER: CheckRevocationStatus.
    Certificate(Vec<u8>),
}

impl Question {
    /// Reads what came over HTTP for an answer.
    pub fn read(&self, bytes: &[u8]) -> Result<Answer, String> {
        match self.ask {
            Ask::List => {
                // RFC 5280, 4.2.1.13 has DER; PEM is what some hosts have.
                let lists = RevocationList::read_file(bytes).map_err(|error| error.to_string())?;
                let list = lists.into_iter().next().ok_or("no list")?;
                Ok(Answer::List(Arc::new(list)))
            }
            Ask::Status(_) => OcspResponse::from_der(bytes)
                .map(|response| Answer::Status(Arc::new(response)))
                .map_err(|error| error.to_string()),
            Ask::Certificate(_) => {
                Err("a certificate manager does not answer over HTTP".to_owned())
            }
        }
    }

    /// Why there is no answer, with where it was asked for.
    fn failed(&self, error: &str) -> String {
        match self.url.as_str() {
            "" => error.to_owned(),
            url => format!("{url}: {error}"),
        }
    }
}

/// What was answered. What an authority says is believed only as far as its signature goes; what a certificate manager
/// says came over a channel with one that is trusted.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A revocation list.
    List(Arc<RevocationList>),
    /// The status of a certificate.
    Status(Arc<OcspResponse>),
    /// What a certificate manager thinks of a certificate.
    Checked(Checked),
}

/// What CheckRevocationStatus gives (Part 12, 7.9.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// CertificateStatus: the first error that was found, or Good.
    pub status: u32,
    /// ValidityTime: when it has to be checked again; none: that is not known.
    pub until: Option<Moment>,
}

impl Checked {
    fn known(self) -> Result<Known, String> {
        const SEVERITY: u32 = 0xC000_0000;
        if self.status & SEVERITY == 0 {
            return Ok(Known::Good(self.until));
        }
        match Reason::of(self.status) {
            Some(Reason::Revoked) => Ok(Known::Revoked),
            // It could not find out: it knows too little of the authority.
            Some(
                reason @ (Reason::RevocationUnknown
                | Reason::IssuerRevocationUnknown
                | Reason::Untrusted
                | Reason::ChainIncomplete),
            ) => Err(format!(
                "the certificate manager says {}",
                reason.status_name()
            )),
            Some(reason) => Ok(Known::Refused(reason)),
            None => Err(format!(
                "the certificate manager says 0x{:08X}",
                self.status
            )),
        }
    }
}

impl Answer {
    /// When it is due to be asked again; none: at any time.
    pub fn next_update(&self) -> Option<Moment> {
        match self {
            Self::List(list) => list.next_update(),
            Self::Status(response) => response.next_update(),
            Self::Checked(checked) => checked.until,
        }
    }
}

/// What came of the questions so far.
pub(crate) type Findings = HashMap<Question, Result<Answer, String>>;

/// What is known of a certificate below its issuer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was not revoked; this has to be looked up again then, if anybody said when.
    Good(Option<Moment>),
    Revoked,
    /// The certificate manager found another fault in it or above it.
    Refused(Reason),
    Unknown(String),
    Ask(Question),
}

/// Of a certificate so many addresses of each kind are tried.
const MOST_ADDRESSES: usize = 2;

/// What is to be known of a certificate.
pub(crate) struct Lookup<'a> {
    pub certificate: &'a Certificate,
    pub issuer: &'a Certificate,
    pub now: Moment,
    pub source: Source,
    /// Whether addresses in the certificate come from somebody who is trusted.
    pub may_ask: bool,
    pub findings: &'a Findings,
}

impl Lookup<'_> {
    /// Looks it up in the lists at hand of this issuer, and in what was found.
    pub fn known<'a>(&self, lists: impl Iterator<Item = &'a RevocationList> + Clone) -> Known {
        // A list that takes it back is an answer, however old it is, and whoever asks.
        if lists.clone().any(|list| list.takes_back(self.certificate)) {
            return Known::Revoked;
        }
        let mut why = None;
        let at_hand = self.in_lists(lists, &mut why);
        if let Some(until) = at_hand
            && !self.source.asks_each_time()
        {
            return Known::Good(until);
        }
        if self.source.asks() {
            for question in self.questions() {
                match self.findings.get(&question) {
                    None => return Known::Ask(question),
                    Some(Err(error)) => why = Some(question.failed(error)),
                    Some(Ok(answer)) => match self.answered(answer) {
                        Ok(known) => return known,
                        Err(error) => why = Some(question.failed(&error)),
                    },
                }
            }
        }
        if let Some(until) = at_hand {
            return Known::Good(until);
        }
        let issuer = self.issuer.subject();
        Known::Unknown(why.unwrap_or_else(|| format!("there is no revocation list of {issuer}")))
    }

    /// When the next one is due after one of these lists that is current; else why they are not.
    fn in_lists<'a>(
        &self,
        lists: impl Iterator<Item = &'a RevocationList>,
        why: &mut Option<String>,
    ) -> Option<Option<Moment>> {
        for list in lists {
            match list.objection(self.now) {
                None => return Some(list.next_update()),
                Some(objection) => {
                    let issuer = self.issuer.subject();
                    let told =
                        format!("the revocation list of {issuer} cannot be used: {objection}");
                    why.get_or_insert(told);
                }
            }
        }
        None
    }

    fn answered(&self, answer: &Answer) -> Result<Known, String> {
        match answer {
            Answer::List(list) if !list.is_of(self.issuer) => {
                Err(format!("it is not the list of {}", self.issuer.subject()))
            }
            Answer::List(list) if list.takes_back(self.certificate) => Ok(Known::Revoked),
            Answer::List(list) => match list.objection(self.now) {
                None => Ok(Known::Good(list.next_update())),
                Some(objection) => Err(objection),
            },
            Answer::Status(response) => {
                match response.standing(self.certificate, self.issuer, self.now)? {
                    Standing::Good => Ok(Known::Good(response.next_update())),
                    Standing::Revoked { .. } => Ok(Known::Revoked),
                    Standing::Unknown => Err("the responder does not know it".to_owned()),
                }
            }
            Answer::Checked(checked) => checked.known(),
        }
    }

    /// The certificate manager, if there is one; else Part 12, 7.8.2.10: OCSP first, and lists if that says nothing.
    fn questions(&self) -> impl Iterator<Item = Question> {
        let manager = self.source.is_manager();
        let certificate = self.certificate;
        let asked = (manager && self.may_ask).then(|| Question {
            url: String::new(),
            ask: Ask::Certificate(certificate.der().to_vec()),
        });
        let may = self.may_ask && !manager;
        let http = move |urls: &'_ [String]| {
            let urls = urls.iter().filter(|url| may && is_http(url));
            urls.take(MOST_ADDRESSES).cloned().collect::<Vec<_>>()
        };
        let request = OcspRequest::of(certificate, self.issuer).der();
        let status = http(certificate.responder_urls()).into_iter();
        let status = status.map(move |url| Question {
            url,
            ask: Ask::Status(request.clone()),
        });
        let lists = http(certificate.list_urls()).into_iter();
        let authority = status.chain(lists.map(|url| Question {
            url,
            ask: Ask::List,
        }));
        asked.into_iter().chain(authority)
    }
}

/// RFC 5280, 4.2.1.13 and 8: what is fetched is signed, and https would ask for another certificate first.
fn is_http(url: &str) -> bool {
    url.get(..7)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"))
}

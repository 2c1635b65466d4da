//! `opc.eth://host[:VID[.PCP]]` (Part 14, 7.3.3).

use std::fmt;
use std::str::FromStr;

/// Where frames go to, or come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EthernetUrl {
    /// Whose they are.
    pub host: Host,
    /// The VLAN that they are in, if it is said.
    pub vlan: Option<Vlan>,
}

/// Whose frames are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// Those to an address.
    Mac([u8; 6]),
    /// All that come to an interface of this host.
    Interface(String),
}

/// What a tag of IEEE 802.1Q says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vlan {
    /// The VID; 0 is a priority alone.
    pub id: u16,
    /// The PCP, if it is said.
    pub priority: Option<u8>,
}

/// Text that is no such URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EthernetUrlError {
    /// It begins otherwise.
    #[error("{0:?} does not begin with opc.eth://")]
    Scheme(String),
    /// No address and no interface.
    #[error("{0:?} is no MAC address such as 01-00-5e-00-00-01, and no name of an interface")]
    Host(String),
    /// No tag.
    #[error("{0:?} is no VLAN: want VID, 0 to 4094, or VID.PCP with a priority of 0 to 7")]
    Vlan(String),
}

const SCHEME: &str = "opc.eth://";
/// Characters of a MAC address.
const MAC: usize = 17;
/// Linux's names of interfaces are shorter.
const NAME: usize = 16;

impl EthernetUrl {
    /// Whether a text means to be one.
    pub fn is_one(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// The address that frames go to.
    pub fn mac(&self) -> Option<[u8; 6]> {
        match self.host {
            Host::Mac(mac) => Some(mac),
            Host::Interface(_) => None,
        }
    }

    /// Whether it is an address of many.
    pub fn is_multicast(&self) -> bool {
        self.mac().is_some_and(|[first, ..]| first & 1 == 1)
    }

    /// Whether a frame in this VLAN, if it is in one, is meant.
    pub fn takes(&self, vlan: Option<Vlan>) -> bool {
        let Some(wanted) = self.vlan else { return true };
        let same = |priority: u8| vlan.and_then(|it| it.priority) == Some(priority);
        vlan.is_some_and(|it| it.id == wanted.id) && wanted.priority.is_none_or(same)
    }
}

impl Vlan {
    /// From the control information of a tag.
    pub fn of_tag(tag: u16) -> Self {
        Self {
            id: tag & 0x0fff,
            priority: u8::try_from(tag >> 13).ok(),
        }
    }

    /// The control information of its tag.
    pub fn tag(self) -> u16 {
        u16::from(self.priority.unwrap_or(0)) << 13 | self.id
    }
}

/// Six groups of two digits, with hyphens as Part 14 has them, or with colons as Linux shows them.
fn mac(text: &str) -> Option<[u8; 6]> {
    let separator = text.get(2..3).filter(|it| matches!(*it, "-" | ":"))?;
    let mut mac = [0; 6];
    let mut groups = text.split(separator);
    for byte in &mut mac {
        let group = groups.next().filter(|it| it.len() == 2)?;
        if !group.bytes().all(|it| it.is_ascii_hexdigit()) {
            return None;
        }
        *byte = u8::from_str_radix(group, 16).ok()?;
    }
    groups.next().is_none().then_some(mac)
}

/// Whether an interface may be called so.
pub(super) fn is_name(text: &str) -> bool {
    let odd = |it: char| it == '/' || it == ':' || it.is_whitespace() || it.is_control();
    !text.is_empty() && text.len() < NAME && !text.contains(odd)
}

fn vlan(text: &str) -> Option<Vlan> {
    let number = |text: &str, most: u16| {
        let digits = text.bytes().all(|it| it.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits)?;
        (number <= most).then_some(number)
    };
    let (id, priority) = match text.split_once('.') {
        Some((id, priority)) => (id, Some(number(priority, 7)?)),
        None => (text, None),
    };
    Some(Vlan {
        id: number(id, 4094)?,
        priority: priority.and_then(|it| u8::try_from(it).ok()),
    })
}

impl FromStr for EthernetUrl {
    type Err = EthernetUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(rest) = text.strip_prefix(SCHEME) else {
            return Err(EthernetUrlError::Scheme(text.to_owned()));
        };
        let rest = rest.trim_end_matches('/');
        let (host, tag) = match rest.get(..MAC).and_then(mac) {
            Some(mac) => (Host::Mac(mac), rest.get(MAC..).unwrap_or_default()),
            None => {
                let end = rest.find(':').unwrap_or(rest.len());
                let (name, tag) = rest.split_at(end);
                if !is_name(name) {
                    return Err(EthernetUrlError::Host(rest.to_owned()));
                }
                (Host::Interface(name.to_owned()), tag)
            }
        };
        let vlan = match tag.strip_prefix(':') {
            None if tag.is_empty() => None,
            None => return Err(EthernetUrlError::Host(rest.to_owned())),
            Some(tag) => {
                let vlan = vlan(tag);
                Some(vlan.ok_or_else(|| EthernetUrlError::Vlan(tag.to_owned()))?)
            }
        };
        Ok(Self { host, vlan })
    }
}

impl fmt::Display for EthernetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        match &self.host {
            Host::Mac([a, b, c, d, e, g]) => {
                write!(f, "{a:02x}-{b:02x}-{c:02x}-{d:02x}-{e:02x}-{g:02x}")?;
            }
            Host::Interface(name) => f.write_str(name)?,
        }
        let Some(vlan) = self.vlan else { return Ok(()) };
        write!(f, ":{}", vlan.id)?;
        match vlan.priority {
            Some(priority) => write!(f, ".{priority}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_part_14_are_read_and_names_of_interfaces_beside_them() {
        for (text, same) in [
            ("opc.eth://01-00-5E-7f-00-01", "opc.eth://01-00-5e-7f-00-01"),
            (
                "opc.eth://01:00:5e:7f:00:01:5",
                "opc.eth://01-00-5e-7f-00-01:5",
            ),
            (
                "opc.eth://01-00-5e-7f-00-01:4094.7/",
                "opc.eth://01-00-5e-7f-00-01:4094.7",
            ),
            ("opc.eth://eth0", "opc.eth://eth0"),
            ("opc.eth://eth0.5:6.0", "opc.eth://eth0.5:6.0"),
        ] {
            let url: EthernetUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), same);
        }
        let url: EthernetUrl = "opc.eth://01-00-5e-7f-00-01:5.3".parse().unwrap();
        assert_eq!(url.mac(), Some([1, 0, 0x5e, 0x7f, 0, 1]));
        assert!(url.is_multicast());
        assert_eq!(url.vlan.unwrap().tag(), 0x6005);
        assert_eq!(Vlan::of_tag(0x6005), url.vlan.unwrap());
        let other: EthernetUrl = "opc.eth://00-00-5e-7f-00-01".parse().unwrap();
        assert!(!other.is_multicast());
    }

    #[test]
    fn what_is_none_is_said() {
        let error = |text: &str| text.parse::<EthernetUrl>().unwrap_err();
        let vlan = |text: &str| EthernetUrlError::Vlan(text.to_owned());
        assert!(matches!(
            error("opc.udp://eth0"),
            EthernetUrlError::Scheme(_)
        ));
        for text in [
            "",
            ":5",
            "a b",
            "a-name-that-is-too-long",
            "01-00-5e-7f-00-01x",
        ] {
            let text = format!("opc.eth://{text}");
            assert!(matches!(error(&text), EthernetUrlError::Host(_)), "{text}");
        }
        for text in ["4095", "-1", "+5", "", "5.8", "5.", "5.3.1", "five"] {
            assert_eq!(error(&format!("opc.eth://eth0:{text}")), vlan(text));
        }
    }

    #[test]
    fn frames_are_taken_by_the_parts_of_the_tag_that_the_url_names() {
        let takes = |url: &str, tag: Option<u16>| {
            let url: EthernetUrl = format!("opc.eth://eth0{url}").parse().unwrap();
            url.takes(tag.map(Vlan::of_tag))
        };
        assert!(takes("", None) && takes("", Some(0x6005)));
        assert!(takes(":5", Some(0x6005)) && takes(":5", Some(5)));
        assert!(!takes(":5", None) && !takes(":5", Some(6)));
        assert!(takes(":5.3", Some(0x6005)) && !takes(":5.3", Some(0x8005)));
        assert!(takes(":0.3", Some(0x6000)) && !takes(":0", None));
    }
}

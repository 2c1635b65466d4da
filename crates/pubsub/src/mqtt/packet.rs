//! The packets of MQTT 3.1.1 and 5. What is read is bounded: a packet may have so many bytes and not more.

/// Which MQTT.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// 3.1.1, which every broker knows.
    #[default]
    V3,
    /// 5, which says why.
    V5,
}

impl Version {
    /// As it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V3 => "3.1.1",
            Self::V5 => "5",
        }
    }
}

/// What the broker publishes when a connection ends without a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Will<'a> {
    /// Where.
    pub topic: &'a str,
    /// What.
    pub payload: &'a [u8],
}

/// The first packet of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connect<'a> {
    /// Which MQTT.
    pub version: Version,
    /// Names this connection; the broker ends an older one of the same name.
    pub client_id: &'a str,
    /// After so many seconds without a packet the broker ends it.
    pub keep_alive: u16,
    /// What the broker publishes, retained and with QoS 1.
    pub will: Option<Will<'a>>,
    /// Who connects.
    pub user: Option<&'a str>,
    /// The secret.
    pub password: Option<&'a [u8]>,
}

/// A message, of either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Publish<'a> {
    /// It may have been sent before.
    pub dup: bool,
    /// 0, 1 or 2.
    pub qos: u8,
    /// The broker keeps it, or had kept it.
    pub retain: bool,
    /// Where.
    pub topic: &'a str,
    /// Names it until it is acknowledged; 0 with QoS 0.
    pub id: u16,
    /// What.
    pub payload: &'a [u8],
}

/// What a broker says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// Whether it lets the client in.
    ConnAck {
        /// 0 if it does.
        code: u8,
        /// So many messages may wait for their acknowledgement, if it says so.
        receive_maximum: Option<u16>,
        /// The highest QoS that it takes.
        maximum_qos: u8,
        /// The largest packet that it takes.
        maximum_packet: Option<u32>,
    },
    /// A message.
    Publish(Publish<'a>),
    /// It has a message of QoS 1, or refuses it.
    PubAck(u16, u8),
    /// It has a message of QoS 2, or refuses it.
    PubRec(u16, u8),
    /// It may forget the name of a message of QoS 2.
    PubRel(u16),
    /// It is done with a message of QoS 2.
    PubComp(u16),
    /// The QoS that it subscribes with, or from 0x80 on why it does not.
    SubAck(u16, u8),
    /// It lives.
    PingResp,
    /// It ends the connection, and why.
    Disconnect(u8),
}

/// Bytes that are no packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// More than is read.
    #[error("a packet of {len} bytes; at most {most} are read")]
    TooLarge {
        /// Its bytes.
        len: usize,
        /// The most.
        most: usize,
    },
    /// A length that does not end.
    #[error("a length of more than four bytes: perhaps this is no MQTT")]
    Length,
    /// It ends within one of its parts.
    #[error("{0} is cut")]
    Short(&'static str),
    /// What only clients send, or nobody.
    #[error("a packet of type {0}, which no broker sends")]
    Type(u8),
    /// A QoS that there is not.
    #[error("a message of QoS 3")]
    Qos,
    /// A topic that is not UTF-8.
    #[error("a topic that is not UTF-8")]
    Topic,
    /// A property that MQTT 5 does not have.
    #[error("a property of type {0}, which MQTT 5 does not have")]
    Property(u8),
}

/// Why a broker refuses or ends something.
pub fn reason(version: Version, code: u8) -> &'static str {
    match (version, code) {
        (_, 0) => "without a reason",
        (Version::V3, 1) => "it does not know MQTT 3.1.1",
        (Version::V3, 2) => "the client id is refused",
        (Version::V3, 3) => "the server is not available",
        (Version::V3, 4) => "user name or password are wrong",
        (Version::V3, 5) => "not authorised",
        (_, 0x04) => "with the will",
        (_, 0x10) => "there are no subscribers",
        (Version::V3, 0x80) => "the subscription is refused",
        (_, 0x81) => "malformed packet",
        (_, 0x82) => "protocol error",
        (_, 0x84) => "it does not know MQTT 5",
        (_, 0x85) => "the client id is refused",
        (_, 0x86) => "user name or password are wrong",
        (_, 0x87) => "not authorised",
        (_, 0x88) => "the server is not available",
        (_, 0x89) => "the server is busy",
        (_, 0x8a) => "banned",
        (_, 0x8b) => "the server is shutting down",
        (_, 0x8d) => "nothing came within the keep-alive time",
        (_, 0x8e) => "another connection has the same client id",
        (_, 0x8f) => "the topic filter is invalid",
        (_, 0x90) => "the topic name is invalid",
        (_, 0x93) => "more messages without acknowledgement than it takes",
        (_, 0x95) => "the packet is too large",
        (_, 0x96) => "messages come too fast",
        (_, 0x97) => "a quota is exceeded",
        (_, 0x99) => "the payload is not what it says",
        (_, 0x9a) => "it does not retain messages",
        (_, 0x9b) => "it does not have this QoS",
        (_, 0x9e) => "it has no shared subscriptions",
        _ => "another reason",
    }
}

// ------------------------------------------------------------------------------------------- writing

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    // Longer ones have no form; whoever makes them sees that they do not.
    let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    out.extend(len.to_be_bytes());
    out.extend(bytes.get(..usize::from(len)).unwrap_or_default());
}

/// Appends a packet of this first byte and body.
fn packet(out: &mut Vec<u8>, first: u8, body: &[u8]) {
    out.push(first);
    length(out, body.len());
    out.extend(body);
}

fn length(out: &mut Vec<u8>, mut len: usize) {
    loop {
        // Lossless: seven bits.
        let digit = (len & 0x7f) as u8;
        len >>= 7;
        out.push(digit | if len > 0 { 0x80 } else { 0 });
        if len == 0 {
            return;
        }
    }
}

impl Connect<'_> {
    /// Appends it. It begins a session of its own.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        text(&mut body, b"MQTT");
        let flag = |there: bool, bits: u8| if there { bits } else { 0 };
        body.push(if self.version == Version::V5 { 5 } else { 4 });
        body.push(
            flag(self.user.is_some(), 0x80)
                | flag(self.password.is_some(), 0x40)
                // Retained, QoS 1.
                | flag(self.will.is_some(), 0x2c)
                | 0x02,
        );
        body.extend(self.keep_alive.to_be_bytes());
        let properties = |body: &mut Vec<u8>| {
            if self.version == Version::V5 {
                body.push(0);
            }
        };
        properties(&mut body);
        text(&mut body, self.client_id.as_bytes());
        if let Some(will) = self.will {
            properties(&mut body);
            text(&mut body, will.topic.as_bytes());
            text(&mut body, will.payload);
        }
        if let Some(user) = self.user {
            text(&mut body, user.as_bytes());
        }
        if let Some(password) = self.password {
            text(&mut body, password);
        }
        packet(out, 0x10, &body);
    }
}

impl Publish<'_> {
    /// Appends it. MQTT 5 says what is in it: `content` is its MIME type.
    pub fn write(&self, version: Version, content: Option<&str>, out: &mut Vec<u8>) {
        let content = content.filter(|_| version == Version::V5);
        // The identifier of the property, and the length of its text.
        let properties = content.map_or(0, |it| 3 + it.len());
        let id = if self.qos > 0 { 2 } else { 0 };
        let five = if version == Version::V5 { 1 } else { 0 };
        let flags = u8::from(self.dup) << 3 | (self.qos & 3) << 1 | u8::from(self.retain);
        out.push(0x30 | flags);
        length(
            out,
            2 + self.topic.len() + id + five + properties + self.payload.len(),
        );
        text(out, self.topic.as_bytes());
        if self.qos > 0 {
            out.extend(self.id.to_be_bytes());
        }
        if version == Version::V5 {
            // Lossless: MIME types are short.
            out.push(properties as u8);
            if let Some(content) = content {
                out.push(3);
                text(out, content.as_bytes());
            }
        }
        out.extend(self.payload);
    }
}

/// Appends the acknowledgement of a message of QoS 1.
pub fn write_puback(id: u16, out: &mut Vec<u8>) {
    packet(out, 0x40, &id.to_be_bytes());
}

/// Appends the first answer to a message of QoS 2.
pub fn write_pubrec(id: u16, out: &mut Vec<u8>) {
    packet(out, 0x50, &id.to_be_bytes());
}

/// Appends the second packet of a sender of QoS 2.
pub fn write_pubrel(id: u16, out: &mut Vec<u8>) {
    packet(out, 0x62, &id.to_be_bytes());
}

/// Appends the second answer to a message of QoS 2.
pub fn write_pubcomp(id: u16, out: &mut Vec<u8>) {
    packet(out, 0x70, &id.to_be_bytes());
}

/// Appends a wish for all messages of a topic filter.
pub fn write_subscribe(version: Version, id: u16, filter: &str, qos: u8, out: &mut Vec<u8>) {
    let mut body = id.to_be_bytes().to_vec();
    if version == Version::V5 {
        body.push(0);
    }
    text(&mut body, filter.as_bytes());
    body.push(qos);
    packet(out, 0x82, &body);
}

/// Appends a question whether the broker lives.
pub fn write_ping(out: &mut Vec<u8>) {
    packet(out, 0xc0, &[]);
}

/// Appends a farewell, so that the broker does not publish the will.
pub fn write_disconnect(out: &mut Vec<u8>) {
    packet(out, 0xe0, &[]);
}

// ------------------------------------------------------------------------------------------- reading

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], PacketError> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or(PacketError::Short(what))?;
        self.0 = rest;
        Ok(taken)
    }

    fn u8(&mut self, what: &'static str) -> Result<u8, PacketError> {
        let taken = self.take(1, what)?;
        taken.first().copied().ok_or(PacketError::Short(what))
    }

    fn u16(&mut self, what: &'static str) -> Result<u16, PacketError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(PacketError::Short(what))?;
        self.0 = rest;
        Ok(u16::from_be_bytes(*taken))
    }

    fn text(&mut self, what: &'static str) -> Result<&'a [u8], PacketError> {
        let len = self.u16(what)?;
        self.take(usize::from(len), what)
    }

    /// A number of seven bits a byte; none if there are bytes to come.
    fn number(&mut self) -> Result<Option<usize>, PacketError> {
        let mut number = 0;
        for n in 0..4 {
            let Some((&byte, rest)) = self.0.split_first() else {
                return Ok(None);
            };
            self.0 = rest;
            number |= usize::from(byte & 0x7f) << (7 * n);
            if byte & 0x80 == 0 {
                return Ok(Some(number));
            }
        }
        Err(PacketError::Length)
    }

    /// The properties of MQTT 5, each with its value where that is a number.
    fn properties(&mut self, mut each: impl FnMut(u8, u32)) -> Result<(), PacketError> {
        const WHAT: &str = "properties";
        let len = self.number()?.ok_or(PacketError::Short(WHAT))?;
        let mut all = Cursor(self.take(len, WHAT)?);
        while !all.0.is_empty() {
            let kind = all.u8(WHAT)?;
            match kind {
                1 | 23 | 25 | 36 | 37 | 40 | 41 | 42 => each(kind, all.u8(WHAT)?.into()),
                19 | 33 | 34 | 35 => each(kind, all.u16(WHAT)?.into()),
                2 | 17 | 24 | 39 => {
                    let bytes = all.take(4, WHAT)?;
                    let value = bytes.first_chunk().map_or(0, |it| u32::from_be_bytes(*it));
                    each(kind, value);
                }
                11 => {
                    all.number()?.ok_or(PacketError::Short(WHAT))?;
                }
                3 | 8 | 9 | 18 | 21 | 22 | 26 | 28 | 31 => {
                    all.text(WHAT)?;
                }
                38 => {
                    all.text(WHAT)?;
                    all.text(WHAT)?;
                }
                other => return Err(PacketError::Property(other)),
            }
        }
        Ok(())
    }
}

impl<'a> Packet<'a> {
    /// Reads the packet at the beginning of `bytes`, and how many of them it is; none if it is not all there yet.
    ///
    /// # Errors
    /// It is none that a broker sends, or has more than `most` bytes.
    pub fn read(
        bytes: &'a [u8],
        version: Version,
        most: usize,
    ) -> Result<Option<(Self, usize)>, PacketError> {
        let mut head = Cursor(bytes);
        let Ok(first) = head.u8("type") else {
            return Ok(None);
        };
        let Some(len) = head.number()? else {
            return Ok(None);
        };
        if len > most {
            return Err(PacketError::TooLarge { len, most });
        }
        let Some(body) = head.0.get(..len) else {
            return Ok(None);
        };
        let used = bytes.len() - head.0.len() + len;
        Ok(Some((Self::body(first, Cursor(body), version)?, used)))
    }

    fn body(first: u8, mut body: Cursor<'a>, version: Version) -> Result<Self, PacketError> {
        let five = version == Version::V5;
        // Names what is acknowledged, and from MQTT 5 on whether it is taken.
        let mut ack = |what| {
            let id = body.u16(what)?;
            let code = if five && !body.0.is_empty() {
                body.u8(what)?
            } else {
                0
            };
            Ok::<_, PacketError>((id, code))
        };
        Ok(match first >> 4 {
            2 => {
                body.u8("CONNACK")?;
                let code = body.u8("CONNACK")?;
                let (mut receive_maximum, mut maximum_qos, mut maximum_packet) = (None, 2, None);
                if five && !body.0.is_empty() {
                    body.properties(|kind, value| match kind {
                        33 => receive_maximum = u16::try_from(value).ok(),
                        36 => maximum_qos = u8::try_from(value).unwrap_or(2),
                        39 => maximum_packet = Some(value),
                        _ => {}
                    })?;
                }
                Self::ConnAck {
                    code,
                    receive_maximum,
                    maximum_qos,
                    maximum_packet,
                }
            }
            3 => {
                let qos = first >> 1 & 3;
                if qos == 3 {
                    return Err(PacketError::Qos);
                }
                let topic = body.text("topic")?;
                let topic = std::str::from_utf8(topic).map_err(|_| PacketError::Topic)?;
                let id = if qos > 0 { body.u16("PUBLISH")? } else { 0 };
                if five {
                    body.properties(|_, _| {})?;
                }
                Self::Publish(Publish {
                    dup: first & 8 != 0,
                    qos,
                    retain: first & 1 != 0,
                    topic,
                    id,
                    payload: body.0,
                })
            }
            4 => ack("PUBACK").map(|(id, code)| Self::PubAck(id, code))?,
            5 => ack("PUBREC").map(|(id, code)| Self::PubRec(id, code))?,
            6 => ack("PUBREL").map(|(id, _)| Self::PubRel(id))?,
            7 => ack("PUBCOMP").map(|(id, _)| Self::PubComp(id))?,
            9 => {
                let id = body.u16("SUBACK")?;
                if five {
                    body.properties(|_, _| {})?;
                }
                Self::SubAck(id, body.u8("SUBACK")?)
            }
            13 => Self::PingResp,
            14 => Self::Disconnect(match five && !body.0.is_empty() {
                true => body.u8("DISCONNECT")?,
                false => 0,
            }),
            other => return Err(PacketError::Type(other)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], version: Version) -> Packet<'_> {
        let (packet, used) = Packet::read(bytes, version, 1000).unwrap().unwrap();
        assert_eq!(used, bytes.len());
        // Every part of it is not there yet.
        for n in 0..bytes.len() {
            assert_eq!(
                Packet::read(bytes.get(..n).unwrap(), version, 1000),
                Ok(None)
            );
        }
        packet
    }

    /// The bytes of MQTT 3.1.1, 3.1 and 5, 3.1, worked by hand.
    #[test]
    fn a_connection_begins_with_the_bytes_of_the_standard() {
        let mut connect = Connect {
            version: Version::V3,
            client_id: "me",
            keep_alive: 10,
            will: None,
            user: Some("u"),
            password: Some(b"p"),
        };
        let mut out = Vec::new();
        connect.write(&mut out);
        assert_eq!(
            out,
            b"\x10\x14\0\x04MQTT\x04\xc2\0\x0a\0\x02me\0\x01u\0\x01p"
        );
        connect.version = Version::V5;
        connect.user = None;
        connect.password = None;
        connect.will = Some(Will {
            topic: "t",
            payload: b"w",
        });
        out.clear();
        connect.write(&mut out);
        assert_eq!(
            out,
            b"\x10\x16\0\x04MQTT\x05\x2e\0\x0a\0\0\x02me\0\0\x01t\0\x01w".as_slice()
        );
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let long = vec![7; 300];
        for version in [Version::V3, Version::V5] {
            for (qos, content) in [(0, None), (1, Some("application/json")), (2, None)] {
                let message = Publish {
                    dup: qos == 1,
                    qos,
                    retain: qos == 2,
                    topic: "a/b",
                    id: if qos > 0 { 515 } else { 0 },
                    payload: &long,
                };
                let mut out = Vec::new();
                message.write(version, content, &mut out);
                assert_eq!(read(&out, version), Packet::Publish(message));
            }
        }
    }

    #[test]
    fn what_brokers_say_is_read() {
        let (three, five) = (Version::V3, Version::V5);
        let refused = read(&[0x20, 2, 0, 5], three);
        assert!(matches!(
            refused,
            Packet::ConnAck {
                code: 5,
                maximum_qos: 2,
                ..
            }
        ));
        // As mosquitto 2 greets: 20 messages at a time, QoS 1, packets of 1 MiB, a name for the client.
        let hello = [
            0x20, 0x13, 0, 0, 0x10, 0x21, 0, 20, 0x24, 1, 0x27, 0, 0x10, 0, 0, 0x12, 0, 3, b'a',
            b'b', b'c',
        ];
        let hello = read(&hello, five);
        let expected = Packet::ConnAck {
            code: 0,
            receive_maximum: Some(20),
            maximum_qos: 1,
            maximum_packet: Some(1 << 20),
        };
        assert_eq!(hello, expected);
        assert_eq!(read(&[0x40, 2, 1, 2], three), Packet::PubAck(258, 0));
        assert_eq!(
            read(&[0x40, 3, 1, 2, 0x97], five),
            Packet::PubAck(258, 0x97)
        );
        assert_eq!(read(&[0x50, 2, 0, 2], five), Packet::PubRec(2, 0));
        assert_eq!(read(&[0x62, 2, 0, 2], three), Packet::PubRel(2));
        assert_eq!(read(&[0x70, 2, 0, 2], three), Packet::PubComp(2));
        assert_eq!(read(&[0x90, 3, 0, 1, 0x80], three), Packet::SubAck(1, 0x80));
        assert_eq!(read(&[0x90, 4, 0, 1, 0, 2], five), Packet::SubAck(1, 2));
        assert_eq!(read(&[0xd0, 0], five), Packet::PingResp);
        assert_eq!(read(&[0xe0, 2, 0x8b, 0], five), Packet::Disconnect(0x8b));
        assert_eq!(reason(five, 0x8b), "the server is shutting down");
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let read = |bytes: &[u8]| Packet::read(bytes, Version::V5, 1000).unwrap_err();
        assert_eq!(read(&[0x30, 0xff, 0xff, 0xff, 0xff]), PacketError::Length);
        assert!(matches!(
            read(&[0x30, 0xff, 0x7f]),
            PacketError::TooLarge { .. }
        ));
        assert_eq!(read(&[0x36, 5, 0, 1, b'a', 0, 0]), PacketError::Qos);
        assert_eq!(read(&[0x30, 4, 0, 1, 0xff, 0]), PacketError::Topic);
        assert_eq!(read(&[0x30, 3, 0, 9, b'a']), PacketError::Short("topic"));
        assert_eq!(read(&[0x20, 4, 0, 0, 1, 0x7f]), PacketError::Property(0x7f));
        assert_eq!(read(&[0xf0, 0]), PacketError::Type(15));
    }
}

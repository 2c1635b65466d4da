//! How a group and its writers are configured (WriterGroupDataType, Part 14, 6.2.6.7).

use super::endpoint::Endpoint;
use super::walk::{
    array, put_count, put_extension_object, put_no_extension_object, put_null, put_string,
    skip_array, skip_extension_object, skip_octets, skip_properties, string,
};
use crate::cursor::Cursor;
use crate::encode::EncodeError;
use crate::error::DecodeError;

/// A writer group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WriterGroupConfig {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: u16,
    /// Whether it publishes.
    pub enabled: bool,
    /// None 1, Sign 2, SignAndEncrypt 3.
    pub security_mode: u32,
    /// The group of keys.
    pub security_group: String,
    /// The distance of NetworkMessages in milliseconds.
    pub interval_ms: f64,
    /// How long nothing may be said, in milliseconds.
    pub keep_alive_ms: f64,
    /// The URI of the header layout.
    pub layout_uri: String,
    /// What its NetworkMessages have; none where that is not UADP.
    pub content_mask: u32,
    /// The writers that were asked for.
    pub writers: Vec<WriterConfig>,
}

/// A DataSetWriter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriterConfig {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: u16,
    /// Whether it publishes.
    pub enabled: bool,
    /// What fields have: 0 Variant, bit 5 RawData, others parts of DataValues.
    pub field_mask: u32,
    /// Each so many messages all fields are told.
    pub key_frame_count: u32,
    /// The DataSet.
    pub data_set: String,
}

/// The binary encoding of UadpWriterGroupMessageDataType.
const UADP_GROUP: u16 = 15715;

impl WriterGroupConfig {
    pub(crate) fn read(c: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let name = string(c, "name of a WriterGroup")?;
        let enabled = c.u8("Enabled")? != 0;
        let security_mode = c.u32("SecurityMode")?;
        let security_group = string(c, "SecurityGroupId")?;
        skip_array(c, Endpoint::LEAST, "SecurityKeyServices", |c| {
            Endpoint::read(c).map(drop)
        })?;
        c.u32("MaxNetworkMessageSize")?;
        skip_properties(c)?;
        let id = c.u16("WriterGroupId")?;
        let interval_ms = c.array("PublishingInterval").map(f64::from_le_bytes)?;
        let keep_alive_ms = c.array("KeepAliveTime").map(f64::from_le_bytes)?;
        c.u8("Priority")?;
        skip_array(c, 4, "LocaleIds", |c| skip_octets(c, "LocaleId"))?;
        let layout_uri = string(c, "HeaderLayoutUri")?;
        skip_extension_object(c)?;
        let content_mask = uadp_mask(c)?;
        Ok(Self {
            name,
            id,
            enabled,
            security_mode,
            security_group,
            interval_ms,
            keep_alive_ms,
            layout_uri,
            content_mask,
            writers: array(c, 29, "DataSetWriters", WriterConfig::read)?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_string(&self.name, out)?;
        out.push(self.enabled.into());
        out.extend(self.security_mode.to_le_bytes());
        put_string(&self.security_group, out)?;
        put_null(out);
        out.extend(0u32.to_le_bytes());
        put_null(out);
        out.extend(self.id.to_le_bytes());
        out.extend(self.interval_ms.to_le_bytes());
        out.extend(self.keep_alive_ms.to_le_bytes());
        out.push(0);
        put_null(out);
        put_string(&self.layout_uri, out)?;
        put_no_extension_object(out);
        // GroupVersion, DataSetOrdering, NetworkMessageContentMask, SamplingOffset, PublishingOffset.
        let mut settings = Vec::new();
        settings.extend(0u32.to_le_bytes());
        settings.extend(0u32.to_le_bytes());
        settings.extend(self.content_mask.to_le_bytes());
        settings.extend((-1f64).to_le_bytes());
        put_null(&mut settings);
        put_extension_object(UADP_GROUP, &settings, out)?;
        put_count(self.writers.len(), "DataSetWriters", out)?;
        self.writers.iter().try_for_each(|it| it.write(out))
    }
}

/// NetworkMessageContentMask of an ExtensionObject, if it is of UADP.
fn uadp_mask(c: &mut Cursor<'_>) -> Result<u32, DecodeError> {
    let before = c.rest();
    skip_extension_object(c)?;
    let whole = before.get(..before.len() - c.rest().len());
    let mut head = vec![1, 0];
    head.extend(UADP_GROUP.to_le_bytes());
    head.push(1);
    let body = whole.and_then(|it| it.strip_prefix(head.as_slice()));
    // Its length, GroupVersion and DataSetOrdering stand before it.
    let mask = body.and_then(|it| it.get(12..16)?.first_chunk());
    Ok(mask.map_or(0, |it| u32::from_le_bytes(*it)))
}

impl WriterConfig {
    fn read(c: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let writer = Self {
            name: string(c, "name of a DataSetWriter")?,
            enabled: c.u8("Enabled")? != 0,
            id: c.u16("DataSetWriterId")?,
            field_mask: c.u32("DataSetFieldContentMask")?,
            key_frame_count: c.u32("KeyFrameCount")?,
            data_set: string(c, "DataSetName")?,
        };
        skip_properties(c)?;
        skip_extension_object(c)?;
        skip_extension_object(c)?;
        Ok(writer)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_string(&self.name, out)?;
        out.push(self.enabled.into());
        out.extend(self.id.to_le_bytes());
        out.extend(self.field_mask.to_le_bytes());
        out.extend(self.key_frame_count.to_le_bytes());
        put_string(&self.data_set, out)?;
        put_null(out);
        put_no_extension_object(out);
        put_no_extension_object(out);
        Ok(())
    }
}

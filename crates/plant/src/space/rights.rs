//! What a user may do with nodes.

use super::access;

/// What a user may do with the nodes of a plant. The standard nodes are there for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rights {
    /// Read values and monitor them.
    pub read: bool,
    /// Write values.
    pub write: bool,
    /// Call methods.
    pub call: bool,
    /// What is otherwise in zones of the address space.
    pub zones: Zones,
}

/// Zones that can have rights of their own.
pub const ZONES: usize = 15;

/// In place of a zone: what everybody may see, as the standard nodes.
pub(crate) const EVERYBODY: u8 = u8::MAX;
/// In place of a zone: what only those may see who may do everything.
pub(crate) const OWNERS: u8 = u8::MAX - 1;

/// Rights by zone: four bits each, the last of which says that the others count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Zones(u64);

impl Rights {
    /// Everything.
    pub const ALL: Self = Self {
        read: true,
        write: true,
        call: true,
        zones: Zones(0),
    };
    /// Look, and change nothing.
    pub const READ_ONLY: Self = Self {
        read: true,
        write: false,
        call: false,
        zones: Zones(0),
    };
    /// Nothing but to browse.
    pub const NONE: Self = Self {
        read: false,
        write: false,
        call: false,
        zones: Zones(0),
    };

    /// The same, but in a zone, of which there are 1 to [`ZONES`].
    #[must_use]
    pub fn with_zone(mut self, zone: u8, there: Self) -> Self {
        let bit = |is: bool, at: u32| u64::from(is) << at;
        let bits = 8 | bit(there.read, 0) | bit(there.write, 1) | bit(there.call, 2);
        let at = u32::from(zone) * 4;
        let cleared = self.zones.0 & !(15u64.wrapping_shl(at));
        self.zones = Zones(cleared | bits.wrapping_shl(at));
        self
    }

    /// What may be done in a zone; 0 is none in particular.
    #[inline]
    pub(crate) fn within(self, zone: u8) -> Self {
        let bits = match zone {
            0 => 0,
            zone => self.zones.0.wrapping_shr(u32::from(zone) * 4),
        };
        match bits & 8 {
            0 => self,
            _ => Self {
                read: bits & 1 != 0,
                write: bits & 2 != 0,
                call: bits & 4 != 0,
                zones: self.zones,
            },
        }
    }

    /// The bits of an access level that these rights leave (Part 3, 5.6.2: UserAccessLevel).
    #[inline]
    pub(crate) fn access(self) -> u8 {
        let mut bits = 0;
        if self.read {
            bits |= access::READ | access::HISTORY_READ;
        }
        if self.write {
            bits |= access::WRITE | access::STATUS_WRITE | access::TIMESTAMP_WRITE;
        }
        bits
    }
}

impl Default for Rights {
    fn default() -> Self {
        Self::ALL
    }
}

//! Links with a name.

use crate::spec::Spec;

/// A link with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// As it is typed.
    pub name: &'static str,
    /// What it stands for, and where its figures come from.
    pub about: &'static str,
    /// The link, as it is typed without the preset.
    pub text: &'static str,
}

impl Preset {
    /// The link.
    pub fn spec(&self) -> Spec {
        // A test reads them all.
        self.text.parse().unwrap_or_default()
    }
}

/// All of them. Only the first has figures of a source; the others are round figures of the kind of line, to be
/// replaced by those of one's own.
pub fn presets() -> [Preset; 7] {
    [
        Preset {
            name: "cavalieri-2mbps",
            about: "the line of Cavalieri et al. 2010: 2 Mbit/s; the delay was found from the first row of their \
                    Table 1, with what their stack took on each leg in it",
            text: "2Mbit/s,delay=4630us",
        },
        Preset {
            name: "dsl",
            about: "a DSL line of an office",
            text: "up.rate=10Mbit/s,down.rate=50Mbit/s,delay=10ms,jitter=2ms,queue=256KiB",
        },
        Preset {
            name: "3g",
            about: "mobile radio of the third generation",
            text: "up.rate=1Mbit/s,down.rate=4Mbit/s,delay=50ms,jitter=20ms,loss=0.5%,burst=3,queue=256KiB",
        },
        Preset {
            name: "4g",
            about: "mobile radio of the fourth generation",
            text: "up.rate=10Mbit/s,down.rate=30Mbit/s,delay=20ms,jitter=10ms,loss=0.1%,burst=3,queue=1MiB",
        },
        Preset {
            name: "satellite",
            about: "a geostationary satellite: 36000 km up and down again",
            text: "up.rate=3Mbit/s,down.rate=20Mbit/s,delay=275ms,jitter=5ms,loss=0.1%,queue=1MiB",
        },
        Preset {
            name: "fieldbus-gateway",
            about: "a gateway to a field bus of 1.5 Mbit/s that is polled every 10 ms",
            text: "1500kbit/s,delay=1ms,jitter=10ms,queue=16KiB",
        },
        Preset {
            name: "vpn",
            about: "a tunnel over the Internet, with its headers on each packet",
            text: "50Mbit/s,delay=15ms,jitter=3ms,overhead=80B,queue=512KiB",
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_link() {
        for preset in presets() {
            let spec = preset.text.parse::<Spec>();
            assert_eq!(spec.as_ref(), Ok(&preset.spec()), "{}", preset.name);
            assert_ne!(preset.spec(), Spec::default());
        }
    }
}

//! Network interfaces of a page: a row for each counter of each of them.

use std::collections::{HashMap, HashSet};

use super::text::Row;
use crate::figure::{Figure, NotAvailable};
use crate::link::Link;

/// What an exporter calls the counters of an interface.
pub struct Names {
    label: &'static str,
    bytes_per_s: &'static str,
    received_bytes: &'static str,
    sent_bytes: &'static str,
    received_packets: &'static str,
    sent_packets: &'static str,
    received_dropped: &'static str,
    sent_dropped: &'static str,
    received_errors: &'static str,
    sent_errors: &'static str,
}

/// Of node_exporter.
pub const NODE_LINKS: Names = Names {
    label: "device",
    bytes_per_s: "node_network_speed_bytes",
    received_bytes: "node_network_receive_bytes_total",
    sent_bytes: "node_network_transmit_bytes_total",
    received_packets: "node_network_receive_packets_total",
    sent_packets: "node_network_transmit_packets_total",
    received_dropped: "node_network_receive_drop_total",
    sent_dropped: "node_network_transmit_drop_total",
    received_errors: "node_network_receive_errs_total",
    sent_errors: "node_network_transmit_errs_total",
};

/// Of windows_exporter.
pub const WINDOWS_LINKS: Names = Names {
    label: "nic",
    bytes_per_s: "windows_net_current_bandwidth_bytes",
    received_bytes: "windows_net_bytes_received_total",
    sent_bytes: "windows_net_bytes_sent_total",
    received_packets: "windows_net_packets_received_total",
    sent_packets: "windows_net_packets_sent_total",
    received_dropped: "windows_net_packets_received_discarded_total",
    sent_dropped: "windows_net_packets_outbound_discarded_total",
    received_errors: "windows_net_packets_received_errors_total",
    sent_errors: "windows_net_packets_outbound_errors_total",
};

/// Of cAdvisor.
pub const CONTAINER_LINKS: Names = Names {
    label: "interface",
    // Containers have virtual interfaces.
    bytes_per_s: "container_network_speed_bytes",
    received_bytes: "container_network_receive_bytes_total",
    sent_bytes: "container_network_transmit_bytes_total",
    received_packets: "container_network_receive_packets_total",
    sent_packets: "container_network_transmit_packets_total",
    received_dropped: "container_network_receive_packets_dropped_total",
    sent_dropped: "container_network_transmit_packets_dropped_total",
    received_errors: "container_network_receive_errors_total",
    sent_errors: "container_network_transmit_errors_total",
};

impl Names {
    const fn all(&self) -> [&'static str; 9] {
        [
            self.bytes_per_s,
            self.received_bytes,
            self.sent_bytes,
            self.received_packets,
            self.sent_packets,
            self.received_dropped,
            self.sent_dropped,
            self.received_errors,
            self.sent_errors,
        ]
    }
}

/// The rows of a metric that are meant.
pub type RowsOf<'r> = &'r dyn Fn(&str) -> Vec<&'r Row<'r>>;

/// The interfaces that the rows of received bytes name, in their order. A machine of containers has thousands of them: each
/// metric is gone through once.
pub fn links(names: &Names, by: &str, rows: RowsOf<'_>) -> Figure<Vec<Link>> {
    let mut tables: HashMap<&str, HashMap<&str, f64>> = HashMap::new();
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    for metric in names.all() {
        let table = tables.entry(metric).or_default();
        for row in rows(metric) {
            let Some(name) = row.label(names.label) else {
                continue;
            };
            if metric == names.received_bytes && seen.insert(name) {
                order.push(name);
            }
            if row.value.is_finite() {
                *table.entry(name).or_default() += row.value;
            }
        }
    }
    if order.is_empty() {
        return Err(NotAvailable::because(format!(
            "{by} names no network interface"
        )));
    }
    let link = |name: &str| {
        let of = |metric: &str| -> Figure<u64> {
            let found = tables.get(metric).and_then(|it| it.get(name));
            let found =
                found.ok_or_else(|| NotAvailable::because(format!("{by} does not give {metric}")));
            Ok(found?.max(0.0) as u64)
        };
        let errors = of(names.received_errors);
        Link {
            name: name.to_owned(),
            speed_bits_per_s: of(names.bytes_per_s).and_then(|it| match it {
                0 => Err(NotAvailable::because("the interface has no speed")),
                bytes => Ok(bytes.saturating_mul(8)),
            }),
            duplex: Err(NotAvailable::because("exporters do not give it")),
            mtu_bytes: Err(NotAvailable::because("exporters do not give it")),
            received_bytes: of(names.received_bytes),
            sent_bytes: of(names.sent_bytes),
            received_packets: of(names.received_packets),
            sent_packets: of(names.sent_packets),
            received_dropped: of(names.received_dropped),
            sent_dropped: of(names.sent_dropped),
            errors: errors.and_then(|n| Ok(n.saturating_add(of(names.sent_errors)?))),
        }
    };
    Ok(order.into_iter().map(link).collect())
}

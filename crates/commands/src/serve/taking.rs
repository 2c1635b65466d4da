//! What the clients of a server, or of each of many devices, were too slow for: for who tests a
//! historian or a SCADA system rather than a server.

use plan::unit::duration;
use plant::{ServerWatch, Taking, Tally};

/// A device and how its clients took what there was for them.
#[derive(Debug, Clone)]
pub struct Device {
    /// Where it is.
    pub url: String,
    /// What its clients did.
    pub taking: Taking,
    /// What became of values and messages.
    pub tally: Tally,
}

/// Devices that are shown one by one at the end; of more than these, those that had the most to
/// complain of.
const ROWS: usize = 40;

impl Device {
    /// As it is now.
    pub fn of(watch: &ServerWatch) -> Self {
        Self {
            url: watch.url().to_owned(),
            taking: watch.taking(),
            tally: watch.tally(),
        }
    }

    /// All together.
    pub fn sum(devices: &[Self]) -> Self {
        let mut sum = Self {
            url: "all".to_owned(),
            taking: Taking::default(),
            tally: Tally::default(),
        };
        for device in devices {
            sum.taking += device.taking;
            sum.tally += device.tally;
        }
        sum
    }

    /// Values that found their queue full: the client did not ask soon enough, or wanted no more.
    fn overflow(&self) -> u64 {
        self.tally.values().overflowed
    }

    /// Messages that nobody acknowledged and that are gone.
    fn forgotten(&self) -> u64 {
        self.tally.messages.forgotten
    }

    /// How much there is to say against its clients, the worst first.
    fn blame(&self) -> (u64, u64, u64, u64) {
        let taking = &self.taking;
        let gap = taking.publish_gap_ns + taking.now.longest_wait_ns;
        (
            taking.expired,
            gap,
            self.overflow(),
            taking.republish_asked + self.forgotten(),
        )
    }

    /// Whether there is anything to say.
    pub fn has_complaints(&self) -> bool {
        self.blame() != (0, 0, 0, 0)
    }

    /// Rows of a block on a terminal.
    pub fn rows(&self) -> [[(&'static str, String); 4]; 2] {
        let (taking, now) = (&self.taking, &self.taking.now);
        [
            [
                ("publish gaps", taking.publish_gaps.to_string()),
                ("longest", time(taking.longest_publish_gap_ns)),
                ("waiting", wait(now.waiting, now.longest_wait_ns)),
                ("overflow", self.overflow().to_string()),
            ],
            [
                ("ack after", self.mean()),
                ("longest", time(taking.longest_acknowledged_after_ns)),
                ("oldest open", time(now.oldest_unacknowledged_ns)),
                ("asked again", taking.republish_asked.to_string()),
            ],
        ]
    }

    fn mean(&self) -> String {
        let mean = self.taking.mean_acknowledged_after();
        mean.map_or("-".to_owned(), duration::show)
    }

    /// A line of a table.
    fn line(&self) -> String {
        let taking = &self.taking;
        format!(
            "{:<30} {:>5} {:>9} {:>9} {:>9} {:>9} {:>8} {:>6} {:>6} {:>7}",
            self.url,
            taking.publish_gaps,
            time(taking.publish_gap_ns),
            time(taking.longest_publish_gap_ns),
            self.mean(),
            time(taking.longest_acknowledged_after_ns),
            self.forgotten(),
            self.overflow(),
            taking.republish_asked,
            taking.expired,
        )
    }
}

const HEAD: &str = "\
                               publish gaps            acknowledged after    never                     subscr.
clients of                       num    in all   longest      mean   longest    acked  overfl  again expired";

/// The devices with the most to complain of, for a block on a terminal.
pub fn worst(devices: &[Device], most: usize) -> Vec<String> {
    let mut some: Vec<_> = devices.iter().filter(|d| d.has_complaints()).collect();
    some.sort_by_key(|device| std::cmp::Reverse(device.blame()));
    let line = |device: &&Device| {
        let (taking, now) = (&device.taking, &device.taking.now);
        format!(
            "{} gaps {} ({}) oldest {} overflow {} again {}",
            device.url,
            taking.publish_gaps,
            time(taking.publish_gap_ns + now.longest_wait_ns),
            time(now.oldest_unacknowledged_ns),
            device.overflow(),
            taking.republish_asked,
        )
    };
    some.iter().take(most).map(line).collect()
}

/// What is said at the end; nothing if nobody subscribed to anything.
pub fn table(devices: &[Device]) -> String {
    let sum = Device::sum(devices);
    if sum.tally.messages.made == 0 {
        return String::new();
    }
    let mut text = format!("{HEAD}\n");
    let mut some: Vec<_> = devices.iter().collect();
    if some.len() > ROWS {
        some.sort_by_key(|device| std::cmp::Reverse(device.blame()));
    }
    for device in some.iter().take(ROWS) {
        text += &device.line();
        text.push('\n');
    }
    if let Some(more) = devices.len().checked_sub(ROWS).filter(|more| *more > 0) {
        text += &format!("and {more} more with less to say\n");
    }
    if devices.len() > 1 {
        text += &sum.line();
        text.push('\n');
    }
    text
}

fn time(nanos: u64) -> String {
    match nanos {
        0 => "-".to_owned(),
        nanos => duration::show_ns(nanos),
    }
}

fn wait(count: u64, nanos: u64) -> String {
    match count {
        0 => "-".to_owned(),
        count => format!("{count}, {}", time(nanos)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(url: &str, gaps: u64) -> Device {
        let mut device = Device::sum(&[]);
        url.clone_into(&mut device.url);
        device.taking.publish_gaps = gaps;
        device.taking.publish_gap_ns = gaps * 1_500_000_000;
        device.taking.longest_publish_gap_ns = 2_000_000_000 * gaps.min(1);
        device.tally.messages.made = 10;
        device
    }

    #[test]
    fn the_worst_devices_are_named_first_and_the_good_ones_not() {
        let devices = [device("a", 1), device("b", 0), device("c", 7)];
        let lines = worst(&devices, 5);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("c gaps 7 (10.5 s)"), "{lines:?}");
    }

    #[test]
    fn a_table_has_each_device_and_their_sum() {
        let table = table(&[device("opc.tcp://a", 1), device("opc.tcp://b", 3)]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 5, "{table}");
        assert!(lines[4].starts_with("all "), "{table}");
        assert!(lines[4].contains(" 4 "), "{table}");
        assert!(lines.iter().all(|line| line.chars().count() <= 110));
    }

    #[test]
    fn nothing_is_said_of_clients_that_subscribed_to_nothing() {
        assert_eq!(table(&[Device::sum(&[])]), "");
    }
}

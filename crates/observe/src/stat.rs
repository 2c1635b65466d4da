//! The line by which the kernel describes a process or a thread: `/proc/PID/stat`.

use crate::figure::{Figure, NotAvailable};
use crate::files;

/// The kernel counts user and system time here in hundredths of a second on every architecture (USER_HZ).
const TICK_NS: u64 = 10_000_000;

/// Its fields, numbered as in proc(5).
pub(crate) struct Stat<'a> {
    name: &'a str,
    words: Vec<&'a str>,
    path: &'a str,
}

impl<'a> Stat<'a> {
    /// From the text of the file at this path.
    pub fn of(text: &'a str, path: &'a str) -> Figure<Self> {
        // proc(5): the name stands in parentheses and may contain any character, so fields are counted
        // from behind it; what follows is the third, the state.
        let rest = text.rfind(')').and_then(|end| text.get(end + 1..));
        let name = text
            .split_once('(')
            .and_then(|(_, rest)| Some(rest.rsplit_once(')')?.0));
        let words: Vec<&str> = rest.unwrap_or_default().split_whitespace().collect();
        match (words.first(), name) {
            (Some(&"Z" | &"X"), _) => Err(NotAvailable::because("the process has ended")),
            (Some(_), Some(name)) => Ok(Self { name, words, path }),
            _ => Err(NotAvailable::because(format!(
                "{path} is not as proc(5) describes it"
            ))),
        }
    }

    /// The name, cut to 15 bytes by the kernel.
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// A field, from the fourth on.
    pub fn field(&self, number: usize) -> Figure<u64> {
        let words = self.words.iter().copied();
        files::number(&mut words.skip(number.saturating_sub(3)), self.path)
    }

    /// A field that may be negative.
    pub fn signed(&self, number: usize) -> Figure<i64> {
        let word = self.words.get(number.saturating_sub(3));
        word.and_then(|it| it.parse().ok())
            .ok_or_else(|| NotAvailable::because(format!("{} has no field {number}", self.path)))
    }

    /// A field of ticks, in nanoseconds.
    pub fn ticks(&self, number: usize) -> Figure<u64> {
        self.field(number).map(|ticks| ticks * TICK_NS)
    }
}

/// Ticks from which their shares are worth something.
const LEAST_TICKS: u64 = 20;

/// User and kernel time. The kernel sees at each tick of its clock which of the two it is, so that only their
/// shares can be known, of a time that is known exactly; and not those of a few ticks.
pub(crate) fn divided(
    cpu: &Figure<u64>,
    user: &Figure<u64>,
    system: &Figure<u64>,
) -> [Figure<u64>; 2] {
    let parts = || -> Figure<(u64, u64)> {
        let (cpu, user, system) = (cpu.clone()?, user.clone()?, system.clone()?);
        let ticks = (user + system) / TICK_NS;
        if ticks < LEAST_TICKS {
            return Err(NotAvailable::because(format!(
                "{ticks} ticks of the kernel's clock fell in it, {LEAST_TICKS} say something"
            )));
        }
        let share = system as f64 / (user + system) as f64;
        let system = (cpu as f64 * share) as u64;
        Ok((cpu.saturating_sub(system), system))
    };
    match parts() {
        Ok((user, system)) => [Ok(user), Ok(system)],
        Err(reason) => [Err(reason.clone()), Err(reason)],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line = "7 (a) 1 (b) R 1 2 3 4 5 6 100 0 30 0 250 150 0 0 20 0 9 0 4711 8 9";
        let stat = Stat::of(line, "stat").unwrap();
        assert_eq!(stat.name(), "a) 1 (b");
        assert_eq!(stat.field(10), Ok(100));
        assert_eq!(stat.field(12), Ok(30));
        assert_eq!(stat.ticks(14), Ok(2_500_000_000));
        assert_eq!(stat.ticks(15), Ok(1_500_000_000));
        assert_eq!((stat.field(20), stat.field(22)), (Ok(9), Ok(4711)));
    }

    #[test]
    fn a_line_cut_short_has_no_figures_instead_of_zeros() {
        let stat = Stat::of("7 (a) R 1 2", "stat").unwrap();
        assert!(stat.ticks(14).unwrap_err().reason().contains("proc(5)"));
    }

    #[test]
    fn a_process_that_nobody_waited_for_has_ended() {
        assert!(Stat::of("7 (a) Z 1 2", "stat").is_err());
        // Something else is not a process without a name.
        for other in ["", "7", "7 (a)", "7 a R 1 2"] {
            assert!(Stat::of(other, "stat").is_err(), "{other:?}");
        }
    }

    #[test]
    fn user_and_kernel_are_shares_of_the_whole_and_not_told_of_a_few_ticks() {
        let ms = |ms: u64| Ok(ms * 1_000_000);
        // 24 ticks, 6 of them in the kernel, of 200 ms that were counted exactly.
        let [user, system] = divided(&ms(200), &ms(180), &ms(60));
        assert_eq!((user, system), (ms(150), ms(50)));
        // Seven ticks, all in the kernel by chance, of 68 ms.
        let [user, system] = divided(&ms(68), &ms(0), &ms(70));
        assert!(user.unwrap_err().reason().starts_with("7 ticks"));
        assert!(system.is_err());
    }
}

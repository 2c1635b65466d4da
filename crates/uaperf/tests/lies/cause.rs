//! What goes wrong, and what each command has to say then.

use super::cell::{Cell, Expected, Figure};
use super::row::{Row, Way};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Nothing,
    /// The server stands still for 1.5 s, three times the timeout.
    Pauses,
    /// The server stands still and never goes on.
    Hangs,
    /// The server is gone and does not come back.
    Crashes,
    /// The server is gone for half a second, and knows no session then.
    Restarts,
    /// Each third session is refused.
    RefusesSome,
    /// One in 25 requests has a Bad result.
    AnswersErrors,
    /// The first answers take 200 ms each.
    SlowAtFirst,
    /// One in five values does not come.
    DropsNotifications,
    /// The connection is cut once.
    Cut,
    SecondTargetMissing,
    /// More nodes in a request than the server allows.
    LimitReached,
    DiskFull,
    NotWritable,
    /// Nobody reads the output.
    PipeClosed,
    Interrupted,
    InterruptedLooking,
    /// The program itself is stopped for 1.5 s.
    GeneratorStopped,
}

impl Cause {
    pub const ALL: [Self; 18] = [
        Self::Nothing,
        Self::Pauses,
        Self::Hangs,
        Self::Crashes,
        Self::Restarts,
        Self::RefusesSome,
        Self::AnswersErrors,
        Self::SlowAtFirst,
        Self::DropsNotifications,
        Self::Cut,
        Self::SecondTargetMissing,
        Self::LimitReached,
        Self::DiskFull,
        Self::NotWritable,
        Self::PipeClosed,
        Self::Interrupted,
        Self::InterruptedLooking,
        Self::GeneratorStopped,
    ];

    /// The fault that the server has from its start.
    pub fn fault(self, row: &Row) -> Option<String> {
        let service = row.service;
        // Behind what prepares the load, and well before its end.
        let once = match row.way {
            Way::Look => "every=1,times=1",
            Way::Rounds | Way::Subscriptions | Way::Search => "every=25,times=1",
            _ if row.name == "read fresh" => "every=25,times=1",
            _ => "every=60,times=1",
        };
        Some(match self {
            Self::Pauses => format!("stall=1500ms,on={service},{once}"),
            Self::Hangs => format!("stall=1h,on={service},{once}"),
            Self::Crashes => format!("restart=1h,on={service},{once}"),
            Self::Restarts => format!("restart=500ms,on={service},{once}"),
            Self::Cut => format!("disconnect,on={service},{once}"),
            Self::RefusesSome => "refuse,on=session,every=3".to_owned(),
            Self::AnswersErrors if row.way == Way::Look => {
                format!("bad=BadInternalError,on={service}")
            }
            // What prepares the load takes a dozen reads.
            Self::AnswersErrors => format!("bad=BadInternalError,on={service},every=25"),
            Self::SlowAtFirst => format!("delay=200ms,on={service},times=40"),
            Self::DropsNotifications => "drop,on=value,every=5".to_owned(),
            // It is stopped while it waits for an answer, more often than not.
            Self::GeneratorStopped => format!("delay=40ms,on={service}"),
            _ => return None,
        })
    }

    /// What this command has to say.
    pub fn on(self, row: &Row) -> Cell {
        match row.way {
            Way::Files => self.on_files(row),
            Way::Look => self.on_look(),
            _ => self.on_load(row),
        }
    }

    fn on_load(self, row: &Row) -> Cell {
        // The thesis's client has no conditions: its exit code is that of its verdict.
        let mut missed = vec![1, 3, 4];
        missed.extend((row.way == Way::Thesis).then_some(0));
        let lost = match row.way {
            Way::Subscriptions | Way::Search => Figure::Unmet,
            _ => Figure::Errors(1),
        };
        let expected = match self {
            // A busy machine may make it late; nothing failed.
            Self::Nothing => Expected::codes(&[0, 3, 4]).kinds(&[
                "VALID",
                "SERVER-SATURATED",
                "UNSTEADY",
                "GENERATOR-LIMITED",
            ]),
            // It gives no request up before the end: what shows is how long an answer took.
            Self::Pauses if row.way == Way::Thesis => Expected::codes(&missed)
                .not_valid()
                .says("Max response time: 1"),
            Self::Pauses => Expected::codes(&missed).not_valid().figure(lost),
            Self::Hangs => Expected::codes(&missed).not_valid().figure(lost),
            Self::Crashes if row.comes_anew() => Expected::codes(&[1, 4]).not_valid().figure(lost),
            Self::Crashes => Expected::codes(&[1]).kinds(&["INCOMPLETE", "FAILED"]),
            Self::Restarts | Self::Cut if row.way == Way::Subscriptions => {
                Expected::any().says("lost")
            }
            Self::Restarts | Self::Cut => Expected::codes(&missed).figure(lost),
            Self::RefusesSome if row.comes_anew() => {
                Expected::codes(&[3, 4]).figure(Figure::Errors(3))
            }
            Self::RefusesSome => Expected::codes(&[1]).kinds(&["INCOMPLETE", "FAILED"]),
            Self::AnswersErrors if row.way == Way::Subscriptions => {
                Expected::any().says("BadInternalError")
            }
            Self::AnswersErrors => Expected::codes(&missed).figure(lost),
            Self::SlowAtFirst if matches!(row.way, Way::Search | Way::Thesis) => {
                return Cell::Never("it states no largest response of a whole phase");
            }
            // Late by less than its condition allows, and said in the verdict.
            Self::SlowAtFirst if row.way == Way::Subscriptions => Expected::codes(&[0, 3, 4])
                .not_valid()
                .figure(Figure::Slow(200_000_000)),
            Self::SlowAtFirst => Expected::codes(&[3, 4]).figure(Figure::Slow(200_000_000)),
            Self::DropsNotifications => match row.way {
                Way::Subscriptions => Expected::codes(&[3, 4]).figure(Figure::Unmet),
                _ => {
                    return Cell::Never("it takes no notifications whose values are accounted for");
                }
            },
            Self::SecondTargetMissing => match row.way {
                Way::Thesis => return Cell::Never("the thesis's client has one server"),
                _ => Expected::codes(&[1]).kinds(&["INCOMPLETE", "FAILED"]),
            },
            Self::LimitReached => match row.name {
                "read" | "read closed" | "write" | "register" => {
                    Expected::codes(&[2]).says("100").at_once()
                }
                _ => return Cell::Never("its requests here hold one operation each"),
            },
            Self::DiskFull | Self::NotWritable if row.way == Way::Search => {
                return Cell::Never("it writes a folder, as the scenario does");
            }
            Self::DiskFull if row.way == Way::Scenario => {
                return Cell::Never("it writes a folder: there is no device that is a full one");
            }
            Self::DiskFull => Expected::codes(&[1]).says("/dev/full"),
            Self::NotWritable => Expected::codes(&[1, 2]).says("taken").at_once(),
            Self::PipeClosed if row.way == Way::Search => Expected::codes(&[0, 3, 4]),
            Self::PipeClosed if row.way == Way::Thesis => Expected::codes(&[0, 4]),
            Self::PipeClosed => Expected::codes(&[3, 4]).figure(Figure::Unmet),
            Self::Interrupted if row.way == Way::Search => Expected::codes(&[130]),
            Self::Interrupted => Expected::codes(&[130]).kinds(&["INCOMPLETE"]),
            Self::InterruptedLooking => Expected::codes(&[130]).soon(),
            Self::GeneratorStopped => match row.way {
                Way::Search => return Cell::Never("each of its trials is one of the other rows"),
                _ => Expected::codes(&[4]).kinds(&["GENERATOR-LIMITED"]),
            },
        };
        Cell::Shows(expected)
    }

    fn on_look(self) -> Cell {
        let expected = match self {
            Self::Nothing => Expected::codes(&[0]),
            Self::Pauses | Self::Hangs | Self::Crashes | Self::AnswersErrors => {
                Expected::codes(&[1])
            }
            Self::InterruptedLooking => Expected::codes(&[130]).soon(),
            Self::PipeClosed => Expected::codes(&[0]),
            _ => return Cell::Never("a look is over before, and writes no file"),
        };
        Cell::Shows(expected)
    }

    /// Of files, of which the second was measured while this happened.
    fn on_files(self, row: &Row) -> Cell {
        let expected = match (self, row.name) {
            (Self::Nothing, "compare") => Expected::codes(&[0, 3, 4]),
            (Self::Nothing, _) => Expected::codes(&[0]),
            (Self::Hangs | Self::Crashes | Self::AnswersErrors, "compare") => {
                Expected::codes(&[3]).denies("BETTER")
            }
            (Self::Hangs | Self::AnswersErrors, "show") => Expected::codes(&[0]).says("failed"),
            (Self::Crashes, "show") => Expected::codes(&[0]).says("the session was lost"),
            (Self::DiskFull, "report") => Expected::codes(&[1]).says("/dev/full"),
            (Self::NotWritable, "report") => Expected::codes(&[1, 2]).says("taken"),
            (Self::PipeClosed, "show" | "report") => Expected::codes(&[0]),
            _ => return Cell::Never("it reads files: what happened was told when they were made"),
        };
        Cell::Shows(expected)
    }
}

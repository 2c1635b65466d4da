//! Wrong command lines: one line that names the option, what was given and what is allowed.

use std::ffi::OsString;
use std::sync::OnceLock;

use clap::error::ErrorKind;
use clap::{ArgAction, ArgMatches, Command, CommandFactory, Error, Parser};
use judge::Exit;
use serde_json::{Map, Value};

use crate::screen::tell;
use crate::{ending, interrupt, settings};

/// The arguments, or the end of the program: with help if that was asked for, else with one line about
/// what is wrong and exit code 2.
pub fn parse<C: Parser>(words: impl IntoIterator<Item = OsString>) -> C {
    let words = settings::expand(&C::command(), words.into_iter().collect());
    let words = words.unwrap_or_else(|failure| {
        ending::report(&failure.into());
        interrupt::quit(Exit::Usage);
    });
    WORDS.get_or_init(|| words.clone());
    let matches = C::command().try_get_matches_from(words);
    let cli = matches.and_then(|matches| {
        let options = options(&C::command(), &matches);
        OPTIONS.get_or_init(|| options);
        C::from_arg_matches(&matches)
    });
    match cli {
        Ok(cli) => cli,
        Err(error) => refuse::<C>(&error),
    }
}

/// Every option of the command with its value, also where it is the default.
static OPTIONS: OnceLock<Value> = OnceLock::new();

/// Those of a command that was typed once, and is gone on with.
static BEFORE: OnceLock<Value> = OnceLock::new();

/// The words of the command line, those of settings among them.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// These words, without the program's own name.
pub fn words() -> impl Iterator<Item = String> {
    let words = WORDS.get().map(Vec::as_slice).unwrap_or_default();
    let words = words.iter().skip(1);
    words.map(|it| it.to_string_lossy().into_owned())
}

/// What was asked of this program, for its results: its words, and every option
/// with its value. No option carries a secret: passwords come from files, the environment or a prompt.
pub fn asked() -> Map<String, Value> {
    let words: Vec<Value> = words().map(Value::from).collect();
    let mut asked = Map::new();
    asked.insert("argv".into(), words.into());
    let options = OPTIONS.get().cloned().unwrap_or_default();
    asked.insert("options".into(), options);
    asked
}

/// The options of a command that have another value than their default, as words that say the same.
pub fn typed(of: &Command) -> Vec<String> {
    differing(of, BEFORE.get().or_else(|| OPTIONS.get()))
}

/// Goes on with a command that was typed once: its options hold.
pub fn goes_on(command: &Command, matches: &ArgMatches) {
    BEFORE.get_or_init(|| options(command, matches));
}

/// The same of what somebody said elsewhere.
pub fn typed_there(of: &Command, said: &ArgMatches) -> Vec<String> {
    differing(of, Some(&options(of, said)))
}

fn differing(of: &Command, options: Option<&Value>) -> Vec<String> {
    let options = options.and_then(Value::as_object);
    let mut words = Vec::new();
    for arg in of.get_arguments() {
        let Some(name) = arg.get_long() else { continue };
        let value = options.and_then(|options| options.get(name));
        let values = match value {
            Some(Value::Bool(true)) => {
                words.push(format!("--{name}"));
                continue;
            }
            Some(Value::Array(values)) => values.as_slice(),
            Some(value @ Value::String(_)) => std::slice::from_ref(value),
            _ => continue,
        };
        let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        let defaults = arg.get_default_values().iter();
        let defaults: Vec<String> = defaults
            .map(|it| it.to_string_lossy().into_owned())
            .collect();
        if values == defaults {
            continue;
        }
        words.extend(values.iter().map(|value| format!("--{name}={value}")));
    }
    words
}

fn options(command: &Command, matches: &ArgMatches) -> Value {
    let (mut command, mut matches) = (command, matches);
    let mut options = Map::new();
    loop {
        for arg in command.get_arguments() {
            let id = arg.get_id().as_str();
            let Ok(Some(raw)) = matches.try_get_raw(id) else {
                continue;
            };
            let mut values: Vec<Value> = raw.map(|it| it.to_string_lossy().into()).collect();
            let value = match (arg.get_action(), values.len()) {
                (ArgAction::SetTrue, _) => matches.get_flag(id).into(),
                (ArgAction::Set, 1) => values.remove(0),
                _ => Value::Array(values),
            };
            options.insert(arg.get_long().unwrap_or(id).to_owned(), value);
        }
        match matches.subcommand() {
            Some((name, below)) if let Some(next) = command.find_subcommand(name) => {
                (command, matches) = (next, below);
            }
            _ => return options.into(),
        }
    }
}

/// What is wrong, for whoever reads arguments that were not typed so.
pub fn in_one_line(error: &Error) -> String {
    let line = one_line(&error.render().to_string());
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

/// What most people do with it, for who types its name alone.
const FIRST_MINUTE: &str = "\
The performance laboratory for OPC UA: measure, compare, explain, predict

  uaperf demo                                        see it at work, on a server of its own
  uaperf probe plc1:4840                             look at a server: endpoints, limits, times of connecting
  uaperf read plc1:4840 -n 'ns=2;s=Speed' --rate 100/s --expect 'p99<20ms'
                                                     load it, and hold it to an objective
  uaperf subscribe plc1:4840 -n 'browse:/Objects/*'  subscribe, and account for every notification
  uaperf compare before.json after.json              say whether it became better or worse

All commands: uaperf --help";

fn refuse<C: CommandFactory>(error: &Error) -> ! {
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if std::env::args_os().len() < 2 => {
            tell!("{FIRST_MINUTE}");
            interrupt::quit(Exit::Usage);
        }
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => {
            let args: Vec<String> = std::env::args().collect();
            let negative = (error.kind() == ErrorKind::UnknownArgument)
                .then(|| negative(&args))
                .flatten();
            let line = negative.unwrap_or_else(|| one_line(&error.render().to_string()));
            tell!("{}", without_passwords(&line));
            if let Some(place) = settings::blamed(&line) {
                tell!("  set by: {place}");
            }
            tell!("  try: {}", help::<C>(std::env::args().skip(1)));
            interrupt::quit(Exit::Usage);
        }
    }
}

/// Nothing here can be negative; a value that begins with a minus is taken for an option, and the
/// error would speak of that.
fn negative(args: &[String]) -> Option<String> {
    let is_negative = |value: &str| {
        let number = value.strip_prefix('-')?;
        number
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(())
    };
    let option = args.windows(2).find_map(|two| match two {
        [option, value] if option.starts_with("--") && is_negative(value).is_some() => {
            Some((option, value))
        }
        _ => None,
    });
    option.map(|(option, value)| {
        format!("error: invalid value '{value}' for '{option}': want one that is not negative")
    })
}

/// What an error says before it goes on to usage and help, in one line, and in words where the standard
/// library speaks of digits and types.
fn one_line(rendered: &str) -> String {
    let lines = rendered
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    let words = [
        ("invalid digit found in string", "want a whole number"),
        (
            "cannot parse integer from empty string",
            "want a whole number",
        ),
        ("invalid float literal", "want a number"),
        (
            "number too large to fit in target type",
            "the number is too large",
        ),
        (
            "number too small to fit in target type",
            "the number is too small",
        ),
    ];
    words
        .iter()
        .fold(line, |line, (from, to)| line.replace(from, to))
}

/// The same without what stands behind the user in a URL: a password that is refused here is not for logs to keep.
fn without_passwords(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("://") {
        let ends = |it: char| it.is_whitespace() || it == '\'';
        let end = behind.find(ends).unwrap_or(behind.len());
        let (url, after) = behind.split_at_checked(end).unwrap_or((behind, ""));
        let login = url.rsplit_once('@');
        let login = login.and_then(|(login, place)| Some((login.split_once(':')?.0, place)));
        shown.push_str(before);
        shown.push_str("://");
        match login {
            Some((user, place)) => shown.push_str(&format!("{user}:...@{place}")),
            None => shown.push_str(url),
        }
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// The help of the command that was meant.
fn help<C: CommandFactory>(mut args: impl Iterator<Item = String>) -> String {
    let cli = C::command();
    let mut words = vec!["uaperf".to_owned()];
    let mut at = &cli;
    while let Some(next) = args.next().and_then(|arg| at.find_subcommand(arg)) {
        words.push(next.get_name().to_owned());
        at = next;
    }
    words.push("--help".to_owned());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_password_in_a_url_is_not_repeated() {
        let line = "error: invalid value 'http://me:s3:c@ret@proxy:1' for '--proxy <http://[USER@]HOST>': want http://U@H:P";
        let shown = "error: invalid value 'http://me:...@proxy:1' for '--proxy <http://[USER@]HOST>': want http://U@H:P";
        assert_eq!(without_passwords(line), shown);
    }

    /// Results hold all options and their values.
    #[test]
    fn no_option_carries_a_secret() {
        fn look(command: &Command, found: &mut Vec<String>) {
            for arg in command.get_arguments() {
                let name = arg.get_long().unwrap_or_default();
                let speaks = ["password", "secret", "token", "key"]
                    .iter()
                    .any(|it| name.contains(it));
                let takes = arg.get_action().takes_values();
                let values = arg.get_value_names().unwrap_or_default();
                let file = values.iter().any(|it| it.contains("FILE"));
                if speaks && takes && !file {
                    found.push(format!("{} --{name}", command.get_name()));
                }
            }
            command.get_subcommands().for_each(|it| look(it, found));
        }
        let mut found = Vec::new();
        look(&Cli::command(), &mut found);
        assert!(found.is_empty(), "{found:?}");
    }

    fn error(args: &[&str]) -> String {
        let args = ["uaperf"].into_iter().chain(args.iter().copied());
        one_line(&Cli::try_parse_from(args).unwrap_err().render().to_string())
    }

    #[test]
    fn an_error_is_one_line_that_names_option_value_and_what_is_allowed() {
        assert_eq!(
            error(&["probe", "opc.tcp://h", "--repeat", "x"]),
            "error: invalid value 'x' for '--repeat <N>': want a whole number"
        );
        assert_eq!(
            error(&["probe", "opc.tcp://h", "--repeat", "0"]),
            "error: invalid value '0' for '--repeat <N>': 0 is not in 1..=10000"
        );
        assert_eq!(
            error(&["probe", "opc.tcp://h", "--timeout", "5"]),
            "error: invalid value '5' for '--timeout <DURATION>': \"5\" is no duration (want a number and \
             a unit: 250us, 100ms, 90s, 5m)"
        );
        let missing = error(&["probe"]);
        assert_eq!(
            missing,
            "error: the following required arguments were not provided: <URL>"
        );
        let unknown = error(&["probe", "opc.tcp://h", "--repaet", "5"]);
        assert!(
            unknown.starts_with("error: unexpected argument '--repaet' found"),
            "{unknown}"
        );
        assert!(
            unknown.contains("'--repeat'") && !unknown.contains('\n'),
            "{unknown}"
        );
    }

    #[test]
    fn the_help_is_that_of_the_command_that_was_meant() {
        let help = |args: &[&str]| help::<Cli>(args.iter().map(|arg| (*arg).to_owned()));
        assert_eq!(help(&["probe", "--repeat"]), "uaperf probe --help");
        assert_eq!(help(&["cert", "trust", "x"]), "uaperf cert trust --help");
        assert_eq!(help(&["--nothing"]), "uaperf --help");
    }
}

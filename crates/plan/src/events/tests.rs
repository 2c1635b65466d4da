use super::*;

fn parsed(text: &str) -> Expression {
    text.parse::<Where>().unwrap().expression().clone()
}

fn wrong(text: &str) -> String {
    text.parse::<Where>().unwrap_err().to_string()
}

#[test]
fn and_binds_closer_than_or_and_brackets_closer_than_both() {
    let flat = "Severity > 1 or Severity > 2 and Severity > 3";
    let round = "Severity > 1 or (Severity > 2 and Severity > 3)";
    assert_eq!(parsed(flat), parsed(round));
    let other = "(Severity > 1 or Severity > 2) and Severity > 3";
    assert_ne!(parsed(flat), parsed(other));
    assert!(matches!(parsed(other), Expression::And(..)));
}

#[test]
fn fields_types_and_values_are_told_apart_by_what_they_look_like() {
    let Expression::Compare(Comparison::Equal, Operand::Field(field), Operand::Literal(kind)) =
        parsed("EventType = AlarmConditionType")
    else {
        panic!("another expression");
    };
    assert_eq!(field, Field::standard("EventType"));
    assert_eq!(
        kind,
        Literal::Node(EventType::Standard(
            wire::types::ObjectTypeId::AlarmConditionType
        ))
    );
    for text in [
        "OfType AlarmConditionType and ActiveState/Id = true",
        "oftype [nsu=urn:plc;i=1001]",
        "SourceName like 'Tank%' AND NOT Severity between 1 and 99",
        "[ns=2;i=5]2:Level >= -0.5e3",
        "2:Level != 7 or AlarmConditionType:InputNode = [ns=2;s=Level]",
        "Time >= 2026-11-22T10:00:00Z",
        "SourceName not in ('a', 'it''s', \"b\")",
        "ConditionName is not null and ConditionId is null",
        "&and = 3",
    ] {
        let read: Where = text.parse().unwrap();
        assert_eq!(read.to_string(), text);
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_is_wanted() {
    for (text, said) in [
        ("", "character 1: want a field or a value"),
        ("Severity", "character 9: want a comparison"),
        ("Severity >", "character 11: want a field or a value"),
        ("Severity >= ", "character 13: want a field or a value"),
        (
            "Severity >= 500 500",
            "character 17: want and, or, or the end",
        ),
        (
            "Severity = 'high'",
            "character 12: Severity is compared with a number",
        ),
        (
            "ActiveState/Id = 1",
            "character 18: ActiveState/Id is compared with true or false",
        ),
        ("(Severity > 5", "character 14: want and, or, or )"),
        (
            "EventType = AlarmType",
            "character 13: OPC UA has no type called AlarmType",
        ),
        ("Message like 'Tank", "character 14: the text has no end"),
        ("Severity between 1", "character 19: want and"),
        (
            "Severity > 5x",
            "character 12: \"5x\" is no number and no time",
        ),
        ("Severity > 5 and § = 1", "character 18: '§' means nothing"),
        ("OfType Severity", "character 8: want a type"),
        ("SourceNode = [ns=2]", "character 14: \"ns=2\" is no node"),
        ("Nothing:Severity > 5", "OPC UA has no type called Nothing"),
    ] {
        let told = wrong(text);
        assert!(told.contains(said), "{text}: {told}");
    }
    let deep = format!("{}Severity > 1", "not ".repeat(60));
    assert!(wrong(&deep).contains("deeper than 50"));
}

#[test]
fn a_field_is_read_as_it_is_shown() {
    for text in [
        "Severity",
        "ActiveState/Id",
        "2:Own/3:Part",
        "ConditionId",
        "AlarmConditionType:InputNode",
        "[ns=2;i=5]2:Own",
        "A&/b&:c",
    ] {
        let field: Field = text.parse().unwrap();
        assert_eq!(field.to_string(), text);
    }
    for text in ["", "/Id", "a//b", "NoType:Id", "70000:x", "[ns=2;i=5", "a&"] {
        assert!(text.parse::<Field>().is_err(), "{text}");
    }
}

#[test]
fn what_accounting_needs_is_asked_for_behind_what_is_wanted() {
    let events = Events {
        select: vec!["Message".parse().unwrap(), "Time".parse().unwrap()],
        ..Events::default()
    };
    let names: Vec<String> = events.fields().iter().map(ToString::to_string).collect();
    assert_eq!(
        names,
        ["Message", "Time", "EventId", "EventType", "ReceiveTime"]
    );
    assert_eq!(Events::default().fields().len(), 8);
}

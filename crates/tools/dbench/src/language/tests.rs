//! Tests of the load language: accepted input, and refused input with its position.

use proptest::prelude::{any, proptest};

use super::{CreateDisposition, ExpectedOutcome, Load, Operation, OperationKind, parse};

fn load(text: &str) -> Load {
    parse("f", text.as_bytes(), None).unwrap()
}

fn operations(text: &str) -> Vec<Operation> {
    load(text).ops.into_iter().map(|op| op.operation).collect()
}

#[track_caller]
fn refused(text: &str, message: &str) {
    let error = parse("f", text.as_bytes(), None).unwrap_err();
    assert_eq!(error.message.lines().next(), Some(message));
    assert!(error.hint.is_some(), "{message}");
}

#[test]
fn every_operation_is_read() {
    let text = r#"# all of them
NTCreateX "\clients\client1\a" 0x40 0x2 16385 NT_STATUS_OK
NTCreateX "\clients\client1\d" 0x1 0x2 7 NT_STATUS_OK
NTCreateX "\clients\client1\a" 0 1 16385 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1\a" 0 5 16385 0x0
WriteX 16385 0x10 4096 4096 NT_STATUS_OK
ReadX 16385 0 4096 512 NT_STATUS_OK
LockX 16385 4 6 NT_STATUS_OK
UnlockX 16385 4 6 NT_STATUS_OK
Flush 16385 NT_STATUS_OK
QUERY_FILE_INFORMATION 16385 258 NT_STATUS_OK
SET_FILE_INFORMATION 16385 1004 NT_STATUS_OK
Close 16385 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\a" 1004 NT_STATUS_OK
QUERY_FS_INFORMATION 259 NT_STATUS_OK
FIND_FIRST "\clients\client1\*" 260 1366 11 NT_STATUS_OK
Rename "\clients\client1\a" "\clients\client1\b" NT_STATUS_OK
Unlink "\clients\client1\b" 22 NT_STATUS_OK
unlink "\clients\client1\b" SUCCESS
Mkdir "\clients\client1\e" *
Rmdir "\clients\client1\e" 0xc0000034
Deltree "\clients\client1" ERROR_X
Sleep 10 NT_STATUS_OK
"#;
    let (name, handle) = (0, 0);
    let load = load(text);
    let operations: Vec<Operation> = load.ops.iter().map(|op| op.operation).collect();
    let create = |how| Operation::Create { name, handle, how, directory: false };
    assert_eq!(operations[0], create(CreateDisposition::Create));
    assert_eq!(
        operations[1],
        Operation::Create { name: 1, handle: 1, how: CreateDisposition::Create, directory: true }
    );
    assert_eq!(operations[2], create(CreateDisposition::Open));
    assert_eq!(operations[3], create(CreateDisposition::Overwrite));
    assert_eq!(
        operations[4..12],
        [
            Operation::Write { handle, offset: 16, bytes: 4096, moved: 4096 },
            Operation::Read { handle, offset: 0, bytes: 4096, moved: 512 },
            Operation::Lock { handle, start: 4, bytes: 6, locks: true },
            Operation::Lock { handle, start: 4, bytes: 6, locks: false },
            Operation::Flush { handle },
            Operation::QueryFile { handle },
            Operation::SetFile { handle },
            Operation::Close { handle },
        ]
    );
    assert_eq!(
        operations[12..],
        [
            Operation::QueryPath { name },
            Operation::QueryFs,
            Operation::Find { name: 2, most: 1366 },
            Operation::Rename { from: 0, to: 3 },
            Operation::Unlink { name: 3 },
            Operation::Unlink { name: 3 },
            Operation::Mkdir { name: 4 },
            Operation::Rmdir { name: 4 },
            Operation::Deltree { name: 5 },
            Operation::Sleep { us: 10 },
        ]
    );
    assert_eq!(load.lines, 22);
    assert_eq!(load.ops[0].line, 2);
    let expected: Vec<ExpectedOutcome> =
        load.ops[16..21].iter().map(|op| load.status(op).expected).collect();
    let (good, bad) = (ExpectedOutcome::Success, ExpectedOutcome::Failure);
    assert_eq!(expected, [good, good, ExpectedOutcome::Either, bad, bad]);
    assert_eq!(load.counts()[OperationKind::NtCreateX as usize], 4);
    assert!(load.warnings.is_empty());
}

#[test]
fn directives_of_dbench_5_are_parsed() {
    let text = r#"LOOP 3
REPEAT 2
QUERY_FS_INFORMATION 1 *
ENDLOOP
SETSP 1
WAITSP 0 1
WRITEPATTERN 0x55 anything
RANDOMSTRING 3 "a[bc]"
Mkdir "\d$3" *
1.5 Mkdir "\e" *
0.000 Mkdir "\e" *
SLEEP 17
"#;
    assert_eq!(
        operations(text),
        [
            Operation::Loop { times: 3, end: 4 },
            Operation::Loop { times: 2, end: 3 },
            Operation::QueryFs,
            Operation::EndLoop { start: 1 },
            Operation::EndLoop { start: 0 },
            Operation::SetPoint { point: 1 },
            Operation::WaitPoint { client: 0, point: 1 },
            Operation::DrawText { into: 3, text: 0 },
            Operation::Drawn(0),
            Operation::Until { us: 1_500_000 },
            Operation::Mkdir { name: 0 },
            Operation::Mkdir { name: 0 },
            Operation::Sleep { us: 17 },
        ]
    );
    let drawn = load("ReadX 1 *%100 4 +1 *").drawn;
    assert_eq!((drawn[0].kind, drawn[0].numbers.len()), (OperationKind::ReadX, 4));
}

#[test]
fn errors_are_reported_with_their_position() {
    refused("", "f:1:1: there is no operation");
    refused("# nothing\nSLEEP 1\n", "f:1:1: there is no operation");
    refused("\n Foo 1 *", "f:2:2: 'Foo' is no operation");
    refused("GETATTR3 \"/a\" 0x0", "f:1:1: 'GETATTR3' is an operation of dbench's backend nfs");
    refused("READ10 0 8 0x00 0x00", "f:1:1: 'READ10' is an operation of dbench's backend iscsi");
    refused("OPENFILE \"/a\" 0x42", "f:1:1: 'OPENFILE' is an operation of dbench's backend smb");
    refused("OPEN \"/a\" 0x0c OK", "f:1:1: 'OPEN' is an operation of dbench's backend smb");
    refused("READ * 4096 0x0", "f:1:1: 'READ' is an operation of dbench's backend smb or block");
    refused("LOCK4 \"/a\" 0 0 0x0", "f:1:1: 'LOCK4' is an operation of dbench's backend nfs");
    refused("PROUT 0 0 0 0 0x0", "f:1:1: 'PROUT' is an operation of dbench's backend iscsi");
    refused("SMBmkdir x", "f:1:1: 'SMBmkdir' is an operation of dbench 1");
    refused("Close", "f:1:1: 'Close' has nothing behind it");
    refused("Close 7", "f:1:7: '7' is no status");
    refused("Close NT_STATUS_OK", "f:1:7: 'NT_STATUS_OK' comes too early: something is missing");
    refused("Close 7 8 *", "f:1:9: '8' is too much");
    refused("Close -1 *", "f:1:7: '-1' is no number from 0 on");
    refused("Close x\x1b *", "f:1:8: the control character 0x1b");
    refused("Deltree \"\\\" *", "f:1:9: '\\\\' would remove everything");
    refused("ReadX 1 0 2000000000 1 *", "f:1:9: a number is too large");
    refused("ReadX 1 0x8000000000000000 1 1 *", "f:1:9: a number is too large");
    refused("LOOP 3\nClose 1 *", "f:1:1: the loop has no end");
    refused("ENDLOOP", "f:1:1: 'ENDLOOP' ends no loop");
    refused("LOOP", "f:1:1: 'LOOP' needs a number");
    refused("LOOP x", "f:1:6: 'x' is no number from 0 on");
    refused("REPEAT 2\nLOOP 2", "f:2:1: 'LOOP' cannot be repeated");
    refused("1.5", "f:1:1: '1.5' is a time without an operation");
    refused("1x Close 1 *", "f:1:1: '1x' is no time");
    refused("1 LOOP 2", "f:1:3: 'LOOP' cannot have a time");
    refused("SLEEP 3600000001", "f:1:7: '3600000001' is more than an hour");
    refused("WAITSP 1", "f:1:1: 'WAITSP' needs a client and a point");
    refused("RANDOMSTRING 10 a", "f:1:14: '10' is no index");
    refused(&"LOOP 2\n".repeat(17), "f:17:1: the loops are too deep");
    let error = parse("f", b"Mkdir \"\\..\\x\" *", None).unwrap_err();
    assert!(error.message.starts_with("f:1:7: '\\\\..\\\\x' is no name"), "{error}");
}

#[test]
fn a_random_string_may_have_the_marks_of_paths() {
    for text in ["/dir-[0-9][0-9]/file.[a-z]", "data-[0-9].tmp", "[a-z._]x"] {
        let line = format!("RANDOMSTRING 1 \"{text}\"\nMkdir \"\\$1\" *\n");
        assert_eq!(load(&line).texts.len(), 1, "{text}");
    }
    refused("RANDOMSTRING 1 \"a[bc\"", "f:1:16: 'a[bc' is no random string");
}

#[test]
fn only_the_requested_lines_are_played() {
    let text = b"Foo\nMkdir \"\\a\" *\nMkdir \"\\b\" *\nFoo\n";
    let load = parse("f", text, Some(&(2..=3))).unwrap();
    assert_eq!((load.ops.len(), load.ops[0].line), (2, 2));
    assert!(parse("f", text, Some(&(9..=12))).is_err());
}

#[test]
fn handles_without_a_line_that_opens_them_are_warned_of() {
    let parsed = load("Close 5 *\nReadX 6 0 1 1 *\n");
    assert_eq!(parsed.warnings, ["f:1:7: the handle 5 is opened by no line before"]);
}

/// Words of the language and foreign words.
const WORDS: [&str; 24] = [
    "NTCreateX",
    "Close",
    "ReadX",
    "WriteX",
    "Unlink",
    "Rename",
    "Deltree",
    "FIND_FIRST",
    "LOOP",
    "ENDLOOP",
    "REPEAT",
    "SLEEP",
    "RANDOMSTRING",
    "WAITSP",
    "\"\\a\\$1\"",
    "\"/..\"",
    "\"",
    "0x1",
    "+child",
    "*%7/3",
    "NT_STATUS_OK",
    "*",
    "18446744073709551615",
    "1.5",
];

proptest! {
    #[test]
    fn arbitrary_text_is_parsed_or_refused(
        words in proptest::collection::vec((0..WORDS.len(), any::<bool>()), 0..60),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let line = |(word, ends): (usize, bool)| {
            WORDS[word].to_owned() + if ends { "\n" } else { " " }
        };
        let soup: String = words.into_iter().map(line).collect();
        for text in [soup.as_bytes(), &bytes] {
            match parse("f", text, None) {
                Ok(load) => {
                    load.counts();
                }
                Err(error) => assert!(error.hint.is_some() && error.message.starts_with("f:")),
            }
        }
    }
}

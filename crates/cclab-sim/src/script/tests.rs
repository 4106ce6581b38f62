//! The interpreter itself: what it reports. What the endpoint does is tested by `tests/timelines`.

use super::run;

const CLIENT: &str = "// cclab: receive_buffer = 65535
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...0.1 connect(3, ..., ...) = 0
+0 > S 0:0(0) <...>
+.1 < S. 0:0(0) ack 1 win 65535 <mss 1000,sackOK,nop,wscale 7>
+0 > . 1:1(0) ack 1
";

fn report(more: &str) -> (Option<usize>, String) {
    let report = run(&format!("{CLIENT}{more}"), "client");
    (report.line, report.message)
}

#[test]
fn a_script_passes() {
    assert_eq!(report("+0 write(3, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n"), (None, String::new()));
}

#[test]
fn the_first_difference_is_shown_in_the_scripts_language() {
    let (line, message) = report("+.5 write(3, ..., 1000) = 1000\n+0 > . 1:901(900) ack 1\n");
    assert_eq!(line, Some(8));
    assert_eq!(
        message,
        "expected 0.600000 > . 1:901(900) ack 1\n\
         actual   0.600000 > [noecn] . 1:1001(1000) ack 1 win 65535\n\
         first difference: payload: expected 900 bytes, actual 1000 bytes"
    );
}

#[test]
fn packets_at_the_wrong_time_fail() {
    let (_, message) = report("+.5 write(3, ..., 1000) = 1000\n+.1 > . 1:1001(1000) ack 1\n");
    assert!(message.ends_with("time: 0.100000 s too early"), "{message}");
    let (_, message) =
        report("+0 write(3, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1\n+.01 > . 1:1001(1000) ack 1\n");
    assert!(message.ends_with("nothing was sent by 0.114000"), "{message}");
    assert_eq!(report("+.5 write(3, ..., 1000) = 1000\n+.003 > . 1:1001(1000) ack 1\n"), (None, String::new()));
    assert_eq!(report("+.5 write(3, ..., 1000) = 1000\n* > . 1:1001(1000) ack 1\n").0, None);
}

#[test]
fn segments_in_a_row_are_one_packet() {
    assert_eq!(report("+0 write(3, ..., 3500) = 3500\n+0 > P. 1:3501(3500) ack 1\n").0, None);
    let (_, message) = report("+0 write(3, ..., 3500) = 3500\n+0 > P. 1:4001(4000) ack 1\n");
    assert!(message.ends_with("payload: expected 4000 bytes, actual 3500 bytes"), "{message}");
}

/// As packetdrill (run.c of the public project), which ends with the last line: what no line took is a note.
#[test]
fn packets_that_nobody_expects_fail_the_script_where_it_says_every_packet() {
    let write = "+0 write(3, ..., 2000) = 2000\n+0 > . 1:1001(1000) ack 1\n";
    for every in [true, false] {
        let told = run(&format!("// cclab: every_packet = {every}\n{CLIENT}{write}"), "told");
        assert_eq!(told.passed, !every, "{told:?}");
        let said = if every { &told.message } else { &told.notes[0] };
        assert!(said.contains("no line expects the packet sent at 0.100000"), "{told:?}");
    }
    assert!(run(&format!("{CLIENT}{write}"), "left").passed);
}

/// As packetdrill (run.c of the public project): the end of `+a...b` counts from the event before; the tolerance is an eighth of the
/// time since then, 4 ms at least; `+` counts from when the event before happened.
#[test]
fn times_are_packetdrills() {
    let read = "+.1...0.3 read(3, ..., 10) = 10\n+.2 < P. 1:11(10) ack 1 win 9\n+0 > . 1:1(0) ack 11\n";
    assert_eq!(report(read), (None, String::new()), "0.1 + 0.3 = 0.1 + 0.1 + 0.2");
    let write = "+0 write(3, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n";
    for (after, passes) in [(".265", false), (".27", true), (".34", true), (".345", false)] {
        let (line, message) = report(&format!("{write}+{after} > P. 1:1001(1000) ack 1\n"));
        assert_eq!(line.is_none(), passes, "a timeout of 302 ms: {after} {message}");
    }
    let late = report(&format!("{write}+.34 > P. 1:1001(1000) ack 1\n.5 > P. 1:1001(1000) ack 1\n")).1;
    assert!(late.contains("expected 0.500000") && late.contains("nothing was sent by 0.5"), "{late}");
    let (line, message) = report("+.5 write(3, ..., 0) = 0\n.5 write(3, ..., 0) = 0\n");
    assert_eq!((line, message.as_str()), (Some(8), "time: this is for 0.500000, and it is 0.600000"));
}

/// What is not modelled fails by its name.
#[test]
fn nothing_is_ignored_without_a_word() {
    for (more, what) in [
        ("+0 send(3, ..., 10, MSG_OOB) = 10", "MSG_OOB of send"),
        ("+0 setsockopt(3, SOL_TCP, TCP_LINGER2, [5], 4) = 0", "setsockopt TCP_LINGER2 on an open connection"),
        ("+0 getsockopt(3, SOL_SOCKET, SO_SNDBUF, [1], [4]) = 0", "getsockopt SO_SNDBUF"),
        ("+0 splice(3, 0, 4, 0, 10, 0) = 10", "the system call splice"),
        ("+0 `sysctl -q net.ipv4.tcp_foo=1`", "the sysctl net.ipv4.tcp_foo"),
        ("+0 `sysctl -q net.ipv4.tcp_fin_timeout=3`", "net.ipv4.tcp_fin_timeout=3; only 60"),
        ("+0 `tc qdisc add dev tun0 root netem delay 10ms`", "the command tc qdisc add dev tun0 root netem delay 10ms"),
        ("+0 `ip route change 192.0.2.0/24 dev tun0 quickack 1`", "`ip route … quickack`"),
        ("+0 `reboot`", "the command reboot"),
        ("+0 %{ exit() }%", "the Python statement exit()"),
        ("--strict\n", "--strict="),
    ] {
        let (line, message) = report(&format!("{more}\n"));
        assert!(line.is_some() && message == format!("not supported: {what}"), "{more}: {message}");
    }
    for harmless in ["tc qdisc replace dev tun0 root fq", "sysctl -q net.ipv4.tcp_max_reordering=$((3*100))"] {
        assert_eq!(report(&format!("+0 `{harmless}`\n")).0, None, "{harmless}");
    }
}

/// A setting that Linux looks at while a connection lasts works on one that is open; others wait for the next.
#[test]
fn settings_in_the_course_of_a_connection() {
    let idle = |sysctl: &str, window: u32| {
        report(&format!(
            "{sysctl}+0 write(3, ..., 10000) = 10000\n+0 > . 1:10001(10000) ack 1\n+.1 < . 1:1(0) ack 10001 win 999\n\
             +9 write(3, ..., 10) = 10\n+0 > P. 10001:10011(10) ack 1\n+0 %{{ assert tcpi_snd_cwnd == {window} }}%\n"
        ))
    };
    assert_eq!(idle("", 10), (None, String::new()), "RFC 5681 §4.1");
    assert_eq!(idle("+0 `sysctl -q net.ipv4.tcp_slow_start_after_idle=0`\n", 20), (None, String::new()));
    let text = format!("{CLIENT}+0 `sysctl -q net.ipv4.tcp_sack=0`\n");
    assert_eq!(run(&text, "next").notes, ["line 7: net.ipv4.tcp_sack is for the next connection"]);
}

/// One socket after another, on either side; packets belong to the connection that was opened last.
#[test]
fn several_connections() {
    let second = "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4\n+0 fcntl(4, F_SETFL, O_NONBLOCK) = 0\n\
        +0 connect(4, ..., ...) = -1 EINPROGRESS\n+0 > S 0:0(0) <...>\n+.1 < S. 70:70(0) ack 1 win 9 <mss 1000>\n\
        +0 > . 1:1(0) ack 1 <...>\n+0 < P. 1:11(10) ack 1 win 9\n+0 > . 1:1(0) ack 11\n+0 read(4, ..., 99) = 10\n\
        +0 read(3, ..., 1) = -1 EBADF\n";
    assert_eq!(report(&format!("+0 close(3) = 0\n+0 > F. 1:1(0) ack 1\n{second}")), (None, String::new()));
}

/// The initial sequence numbers of both ends are the script's.
#[test]
fn sequence_numbers_begin_where_the_script_says() {
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
        +0 < S 900:900(0) win 65535 <mss 1000>\n+0 > S. 77:77(0) ack 901 <...>\n+1 > S. ISN:ISN(0) ack 901 <...>\n\
        +0 < . 1:1(0) ack 1 win 9\n+0 accept(3, ..., ...) = 4\n";
    assert!(run(&text.replace("ISN", "77"), "isn").passed, "{:?}", run(&text.replace("ISN", "77"), "isn"));
    assert!(run(&text.replace("ISN", "78"), "isn").message.contains("sequence number: expected 78, actual 77"));
}

#[test]
fn code_has_variables() {
    let more = "+0 %{ before = tcpi_snd_cwnd }%\n+0 write(3, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n\
        +.1 < . 1:1(0) ack 1001 win 999\n+0 %{ assert tcpi_snd_cwnd == before + EXTRA, tcpi_snd_cwnd }%\n";
    assert_eq!(report(&more.replace("EXTRA", "0")).0, None);
    assert_eq!(report(&more.replace("EXTRA", "2")).0, Some(11));
}

#[test]
fn calls_return_what_and_when_the_script_says() {
    for (more, line, message) in [
        ("+0 read(3, ..., 10) = 10\n", 7, "read blocks; it should have returned 10"),
        (
            "+0...0.3 read(3, ..., 10) = 10\n+.1 < P. 1:11(10) ack 1 win 9\n",
            7,
            "read should return at 0.400000, and returned at 0.200000",
        ),
        ("+0...0.3 read(3, ..., 10) = 10\n", 7, "read should return at 0.400000, and has not by 0.437500"),
        ("+0...0.2 read(3, ..., 9) = 10\n+.2 < P. 1:11(10) ack 1 win 9\n", 7, "read: expected 10, returned 9"),
        ("+0 write(3, ..., 9) = -1 EPIPE (Broken pipe)\n", 7, "write: expected -1 EPIPE, returned 9"),
        ("+0 connect(3, ..., ...) = 0\n", 7, "connect: expected 0, returned -1 EISCONN"),
        (
            "+0 getsockopt(3, SOL_SOCKET, SO_ERROR, [111], [4]) = 0\n",
            7,
            "getsockopt SO_ERROR: expected [111], returned [0]",
        ),
        ("+0 splice(3, 0, 4, 0, 10, 0) = 10\n", 7, "not supported: the system call splice"),
        ("+0 > udp (10)\n", 7, "not supported: udp packets"),
        ("+0 `sysctl -q net.ipv4.tcp_sack=x`\n", 7, "net.ipv4.tcp_sack: \"x\" is not a whole number from 0 to 1"),
    ] {
        assert_eq!(report(more), (Some(line), message.to_owned()), "{more}");
    }
    assert_eq!(report("+0...0.2 read(3, ..., 10) = 10\n+.2 < P. 1:11(10) ack 1 win 9\n+0 > . 1:1(0) ack 11\n").0, None);
    assert_eq!(report("+0 fcntl(3, F_SETFL, O_NONBLOCK) = 0\n+0 read(3, ..., 10) = -1 EAGAIN\n").0, None);
}

#[test]
fn assertions_show_the_values() {
    let (line, message) = report("+0 %{ assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd }%\n");
    assert_eq!((line, message.as_str()), (Some(7), "assert tcpi_snd_cwnd == 11: tcpi_snd_cwnd = 10"));
    let (_, message) = report("+0 %{ assert tcpi_cwnd == 10 }%\n");
    assert!(
        message.starts_with("not supported: assert tcpi_cwnd == 10: tcpi_cwnd is not known here; known: tcpi_snd_cwnd"),
        "{message}"
    );
    for (more, expected) in [
        ("tcpi_snd_cwnd / tcpi_lost == 1", "division by zero (tcpi_snd_cwnd = 10, tcpi_lost = 0)"),
        ("1 / 0 == 1", "division by zero"),
        ("round(tcpi_lost) == 0", "round with 1 arguments is not known here (tcpi_lost = 0)"),
    ] {
        let (_, message) = report(&format!("+0 %{{ assert {more} }}%\n"));
        assert_eq!(message, format!("assert {more}: {expected}"));
    }
    let printed = run(&format!("{CLIENT}+0 %{{ print(tcpi_rtt, 'us'); import os }}%\n"), "print");
    assert_eq!(printed.notes, ["line 7: tcpi_rtt = 100000, 'us'", "line 7: not run here: import os"]);
}

#[test]
fn errors_of_the_head_name_their_line() {
    let bad = run("// cclab: cc = renoo\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n", "bad");
    assert_eq!(bad.line, Some(1));
    assert!(bad.message.starts_with("cc: unknown \"renoo\"; allowed:"), "{}", bad.message);
    let unread = run("0 socket(\n", "unread");
    assert_eq!(
        (unread.line, unread.message.as_str()),
        (Some(2), "column 1: expected a value, found the end of the script")
    );
}

#[test]
fn a_report_is_json() {
    let json = run("0 close(3\n", "x").to_json();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["name"], "x");
    assert_eq!(value["passed"], false);
    assert_eq!(value["line"], 2);
    assert!(value["notes"].as_array().unwrap().is_empty());
}

/// Scripts out of `tests/timelines` with random damage: each is read or refused, played or failed, never worse.
#[test]
fn damaged_scripts_do_no_harm() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/timelines");
    let mut paths: Vec<_> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pkt"));
    paths.sort();
    let texts: Vec<Vec<char>> =
        paths.iter().map(|path| std::fs::read_to_string(path).unwrap().chars().collect()).collect();
    let mut luck = cclab_algo::rng::Stream::new(1, "damage");
    let mut below = |n: usize| luck.below(n as u64) as usize;
    const STRANGE: &[char] =
        &['0', '9', '(', ')', '[', '<', '>', '{', '%', '}', '`', '"', '*', '+', '~', '-', ',', ' ', '\n', 'é'];
    for _ in 0..3000 {
        let mut text = texts[below(texts.len())].clone();
        for _ in 0..1 + below(4) {
            let (at, length) = (below(text.len()), 1 + below(12));
            let end = (at + length).min(text.len());
            match below(3) {
                0 => drop(text.drain(at..end)),
                1 => text[at] = STRANGE[below(STRANGE.len())],
                _ => {
                    let copy: Vec<char> = text[at..end].to_vec();
                    let to = below(text.len());
                    text.splice(to..to, copy);
                }
            }
        }
        let text: String = text.into_iter().collect();
        let report = run(&text, "damaged");
        assert_eq!(report.passed, report.line.is_none(), "{text}\n{report:?}");
    }
}

/// Linux's ip-sysctl and `tcp_rcv_space_adjust`: whether the receive buffer grows, and how far, is read as the application reads; how far
/// the send buffer grows (`tcp_sndbuf_expand`) as it fills.
#[test]
fn how_far_buffers_grow_is_read_while_a_connection_is_open() {
    let begin = "`sysctl -q net.ipv4.tcp_rmem=\"4096 131072 6291456\" net.ipv4.tcp_wmem=\"4096 16384 4194304\"`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,nop,nop,sackOK,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 1000
+0 accept4(3, ..., ..., SOCK_NONBLOCK) = 4
";
    let mut more = String::new();
    for n in 0..120 {
        let wait = if n % 40 == 0 { ".3" } else { ".001" };
        let (from, to) = (1 + 1000 * n, 1001 + 1000 * n);
        more += &format!("+{wait} < . {from}:{to}(1000) ack 1 win 1000\n+0 read(4, ..., 9999) = 1000\n");
    }
    for (set, grows) in
        [("tcp_moderate_rcvbuf=1", true), ("tcp_moderate_rcvbuf=0", false), ("tcp_rmem=\"4096 131072 131072\"", false)]
    {
        let last = format!("+0 %{{ assert (SK_MEMINFO_RCVBUF > 131072) == {} }}%\n", i32::from(grows));
        let told = run(&format!("{begin}+0 `sysctl -q net.ipv4.{set}`\n{more}{last}"), "receives");
        assert!(told.passed, "{set}: {told:?}");
    }
    let fill = "+0 write(4, ..., 10000000) = ...\n+.1 < . 1:1(0) ack 5001 win 1000\n+0 write(4, ..., 10000000) = ...\n";
    for (most, size) in [(30_000, 30_000), (40_000, 40_000)] {
        let set = format!("+0 `sysctl -q net.ipv4.tcp_wmem=\"4096 4096 {most}\"`\n");
        let told =
            run(&format!("{begin}{set}{fill}+0 getsockopt(4, SOL_SOCKET, SO_SNDBUF, [{size}], [4]) = 0\n"), "sends");
        assert!(told.passed, "{most}: {told:?}");
    }
    for set in ["tcp_rmem=\"4096 131072 131072\"", "tcp_moderate_rcvbuf=0", "tcp_wmem=\"1 2 3\"", "tcp_adv_win_scale=1"]
    {
        let told = report(&format!("+0 `sysctl -q net.ipv4.{set}`\n")).1;
        assert!(told.starts_with("not supported: net.ipv4.tcp_") && told.contains("on an open connection"), "{told}");
    }
}

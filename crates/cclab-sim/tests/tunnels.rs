//! Links that are tunnels, against arithmetic: bytes on the wire, round trips of the handshake, and who sees what is lost.

use cclab_sim::app::FlowRow;
use cclab_sim::net::LinkRow;
use cclab_sim::scenario::Scenario;
use cclab_sim::world::{RunResult, run};

const TCP: &str = "{ over = 'tcp', cc = 'cubic' }";

/// 10 Mbit/s and 50 ms, with these fields of the network, these flows, and what follows.
fn result(network: &str, flows: &str, more: &str) -> RunResult {
    let text = format!(
        "duration = '30 s'\nflows = [{flows}]\nnetwork = {{ rate = '10 Mbit/s', rtt = '50 ms', {network} }}\n{more}"
    );
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
    run(&scenario, 1).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn flow<'r>(result: &'r RunResult, label: &str) -> FlowRow<'r> {
    (0..result.flows.len()).map(|i| result.flows.row(i)).find(|row| row.label == label).expect("a flow")
}

fn link<'r>(result: &'r RunResult, name: &str) -> LinkRow<'r> {
    (0..result.links.len()).map(|i| result.links.row(i)).find(|row| row.name == name).expect("a link")
}

/// What is left of the link's rate for the payload of datagrams of 1500 bytes: 28 bytes of headers of their own, 2 of length,
/// and 52 of the tunnel's TCP around every 1448 bytes of its stream; or 28 of its UDP around each of them.
#[test]
fn bytes_on_the_wire() {
    let flood = "{ kind = 'cbr', rate = '12 Mbit/s' }";
    for (overhead, tunnel, share) in [
        (0.0, "'none'", 1472.0 / 1500.0),
        (0.0, "'udp'", 1472.0 / 1528.0),
        (18.0, "{ over = 'udp' }", 1472.0 / 1546.0),
        (0.0, TCP, 1472.0 / 1502.0 * 1448.0 / 1500.0),
        (18.0, TCP, 1472.0 / 1502.0 * 1448.0 / 1518.0),
    ] {
        let network = format!("tunnel = {tunnel}, overhead = {overhead}, queue = {{ limit = '1 BDP' }}");
        let result = result(&network, flood, "warmup = '10 s'");
        let found = flow(&result, "cbr-1").goodput_bps / 10e6;
        assert!((found / share - 1.0).abs() < 0.005, "{tunnel}, {overhead}: {found}, not {share}");
    }
}

/// The same of a TCP inside: at the least a pure ACK of the tunnel goes with every segment of ACKs that come the other way,
/// of which there is one for two segments of data.
#[test]
fn tcp_in_tcp_without_losses() {
    let result =
        result(&format!("tunnel = {TCP}, queue = {{ limit = 'unlimited' }}"), "{ cc = 'reno' }", "warmup = '10 s'");
    let most = 1448.0 / 1502.0 * 1448.0 / 1500.0;
    let (goodput, least) = (flow(&result, "reno-1").goodput_bps / 10e6, most * (1.0 - 0.5 * 52.0 / 1500.0));
    assert!((0.995 * least..1.0005 * most).contains(&goodput), "{least} {goodput} {most}");
    let tunnel = flow(&result, "tunnel-1");
    assert!((tunnel.goodput_bps / 10e6 / (goodput * 1502.0 / 1448.0) - 1.0).abs() < 0.001, "{}", tunnel.goodput_bps);
    assert_eq!((tunnel.timeouts, tunnel.segments_retransmitted), (0, 0));
    assert_eq!(link(&result, "tunnel-1").arrived, flow(&result, "reno-1").segments_sent);
}

/// A packet that comes before the connection stands waits for it: SYN, SYN-ACK, data, which is one RTT more.
#[test]
fn the_handshake_comes_first() {
    let one = "{ kind = 'cbr', rate = '12 kbit/s' }"; // a packet each second
    let delays = |tunnel: &str| {
        let result = result(&format!("tunnel = {tunnel}"), one, "");
        let owd = flow(&result, "cbr-1").owd;
        (owd.min, owd.max)
    };
    let (quick, slow) = delays(TCP);
    let segments = [1500.0, 54.0 + 52.0].map(|bytes| bytes * 8.0 / 10e6);
    assert!((quick - (0.025 + segments[0] + segments[1])).abs() < 1e-4, "{quick}");
    assert!((slow - quick - 0.050).abs() < 2e-4, "{slow} {quick}"); // and two segments of 52 to 60 bytes
    let (quick, slow) = delays("'udp'");
    assert!((quick - (0.025 + 1528.0 * 8.0 / 10e6)).abs() < 1e-9 && quick == slow, "{quick} {slow}");
}

/// Whatever the link loses the tunnel repairs; what is inside never misses a packet but those that found no room at the mouth.
#[test]
fn the_inside_sees_delay_instead_of_loss() {
    for loss in ["0.5%", "3%"] {
        let result = result(
            &format!("tunnel = {TCP}, loss = {{ all = '{loss}' }}"),
            "{ cc = 'reno', receive_buffer = '64 KiB' }",
            "",
        );
        let (inner, outer) = (flow(&result, "reno-1"), flow(&result, "tunnel-1"));
        // what was lost in the last round trip is not sent again yet
        let repaired = outer.segments_retransmitted as f64 + outer.cwnd_max_segments >= outer.packets_lost as f64;
        assert!(outer.packets_lost > 50 && repaired, "{outer:?}");
        assert_eq!((inner.packets_lost, inner.recoveries, link(&result, "tunnel-1").drops), (0, 0, 0), "{inner:?}");
        assert!(inner.rtt.max > 0.1 && inner.goodput_bps > 0.5e6, "{inner:?}");
    }
}

/// One lost segment holds back all that is behind it: it is found by the third packet after it, which comes 30 ms later, and sent
/// again; nobody overtakes.
#[test]
fn what_is_behind_a_lost_segment_waits() {
    let packets = "{ kind = 'cbr', rate = '1.2 Mbit/s' }"; // one in 10 ms; two segments each
    let network = format!("tunnel = {TCP}, loss = {{ data = {{ packets = [1001] }} }}");
    let result = result(&network, packets, "warmup = '1 s'");
    let (owd, outer) = (flow(&result, "cbr-1").owd, flow(&result, "tunnel-1"));
    assert_eq!((outer.packets_lost, outer.segments_retransmitted, outer.timeouts), (1, 1, 0));
    let held = owd.max - owd.min; // until the ACKs of what follows have come, an RTT, and what that took to come
    assert!((0.050..0.100).contains(&held), "{held}");
}

/// What waits at the mouth has a limit, and what the limit turns away is counted there.
#[test]
fn the_mouth_has_a_limit() {
    let flood = "{ kind = 'cbr', rate = '12 Mbit/s' }";
    let mut sojourns = Vec::new();
    for buffer in [10_u64, 500] {
        let network = format!(
            "tunnel = {{ over = 'tcp', cc = 'reno', buffer = '{buffer} packets', receive_buffer = '120 KiB' }}"
        );
        let result = result(&network, flood, "warmup = '5 s'");
        let mouth = link(&result, "tunnel-1");
        assert_eq!((mouth.queue_max_packets, mouth.queue_limit_packets), (buffer, buffer as f64));
        let kept = mouth.sent + mouth.drops;
        assert!(mouth.drops > 4000 && kept.abs_diff(mouth.arrived) <= buffer, "{mouth:?}");
        assert_eq!(flow(&result, "cbr-1").packets_lost, mouth.drops);
        sojourns.push(mouth.sojourn.mean);
    }
    // a full queue of n packets drains at the rate of the link
    let of_packets = |n: f64| n * 1502.0 * 1500.0 / 1448.0 * 8.0 / 10e6;
    assert!((sojourns[1] / of_packets(500.0) - 1.0).abs() < 0.02, "{sojourns:?}");
    assert!(sojourns[0] < of_packets(10.5), "{sojourns:?}");
}

/// Every run checks that no packet is made or lost by the simulator; here with all that a link and a flow can do.
#[test]
fn packets_are_conserved() {
    let impaired = format!(
        "tunnel = {TCP}, loss = {{ all = '2%' }}, jitter = {{ max = '3 ms' }}, duplicate = '1%', \
         reorder = {{ probability = '2%', delay = '8 ms' }}, queue = {{ discipline = 'fq-codel' }}"
    );
    let flows = "{ cc = 'cubic', count = 2 }, { cc = 'bbr', direction = 'reverse' }, { kind = 'onoff', rate = '1 Mbit/s' }, \
                 { cc = 'reno', size = '200 kB', send_jitter = '1 ms' }";
    let more = "background = [{ kind = 'poisson', cc = 'cubic', load = 0.1, direction = 'both' }]\n\
                record = { samples = 'change', packets = 'table', frames = true }";
    let whole = result(&impaired, flows, more);
    assert!(flow(&whole, "reno-1").fct_s > 0.0 && flow(&whole, "tunnel-1").timeouts < 100);
    assert!(whole.packets.is_some_and(|packets| !packets.is_empty()) && whole.jain > 0.0);
    let captured = result(&impaired, flows, "record = { samples = 'off', packets = 'pcapng', point = 'receiver' }");
    assert!(captured.capture.is_some_and(|bytes| bytes.len() > 100_000));
    result("tunnel = { over = 'tcp', cc = 'reno', profile = 'classic' }, loss = { all = '5%' }", flows, "");
}

/// A tunnel on each of several links, and beside it packets that do not take it.
#[test]
fn tunnels_in_a_row() {
    let text = format!(
        "duration = '20 s'\nflows = [{{ cc = 'cubic', rtt = '40 ms' }}, {{ cc = 'reno', from = 1, rtt = '40 ms' }}]\n\
         network = {{ topology = 'parking-lot', bottlenecks = 2, rate = '10 Mbit/s', tunnel = {TCP} }}"
    );
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{e}"));
    let result = run(&scenario, 1).unwrap_or_else(|e| panic!("{e}"));
    let (long, short) = (flow(&result, "cubic-1"), flow(&result, "reno-1"));
    assert!(long.goodput_bps > 1e6 && short.goodput_bps > 1e6 && flow(&result, "tunnel-2").goodput_bps > 9e6);
    let stream = long.segments_sent as f64 * 1502.0; // but for the handshake of two smaller packets, and what is under way
    assert!((flow(&result, "tunnel-1").delivered_bytes as f64 / stream - 1.0).abs() < 0.005, "{:?}", result.flows);
}

#[test]
fn what_cannot_be() {
    let mistakes = |network: &str| {
        let text =
            format!("duration = '1 s'\nflows = [{{ cc = 'reno', label = 'tunnel-1' }}]\nnetwork = {{ {network} }}");
        Scenario::from_toml(&text).expect_err(&text).to_string()
    };
    let with = |tunnel: &str| mistakes(&format!("rate = '1 Mbit/s', rtt = '10 ms', tunnel = {tunnel}"));
    for (found, field, sentence) in [
        (
            with("'tcp'"),
            "network.tunnel:",
            "\"tcp\" is no tunnel; write \"udp\", { over = \"tcp\", cc = \"cubic\" } or \"none\"",
        ),
        (with("{ over = 'sctp' }"), "network.tunnel.over:", "unknown \"sctp\""),
        (with("{ over = 'tcp' }"), "network.tunnel.cc:", "missing"),
        (with("{ over = 'tcp', cc = 'reno', tunnel = 'udp' }"), "network.tunnel.tunnel:", "inside a tunnel"),
        (with("{ over = 'tcp', cc = 'reno', size = '1 MB' }"), "network.tunnel.size:", "the whole run"),
        (
            with("{ over = 'tcp', cc = 'reno', buffer = '0 packets' }"),
            "network.tunnel.buffer:",
            "at least \"1 packet\"",
        ),
        (with(TCP), "network.tunnel:", "a flow has the label of its connection, \"tunnel-1\""),
        (with("'udp', reverse = { tunnel = 'udp' }"), "network.reverse.tunnel:", "in both directions"),
        (
            mistakes("rate = 'unlimited', rtt = '10 ms', tunnel = { over = 'tcp', cc = 'reno', buffer = '1 BDP' }"),
            "network.tunnel.buffer:",
            "needs a link with a rate",
        ),
        (
            mistakes(&format!(
                "topology = 'custom', nodes = ['a', 'b'], links = [{{ from = 'a', to = 'b', rate = '1 Mbit/s', delay = '1 ms', \
                 duplex = false, tunnel = {TCP} }}]"
            )),
            "network.links[0].tunnel:",
            "needs both directions",
        ),
        (mistakes("topology = 'chain', hops = 2, wireless = {}, tunnel = 'udp'"), "network.tunnel:", "not simulated"),
    ] {
        assert!(found.contains(field) && found.contains(sentence), "{field} {sentence}: {found}");
    }
}

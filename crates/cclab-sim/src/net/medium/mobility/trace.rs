//! Movements as ns-2 writes them.
//!
//! ```tcl
//! $node_(0) set X_ 150.0                              # where it is at first; Y_, and Z_, which is 0
//! $ns_ at 10.0 "$node_(0) setdest 250.0 200.0 5.0"    # from 10 s on straight to (250, 200) at 5 m/s
//! $ns_ at 40.0 "$node_(0) set X_ 100.0"               # a jump
//! ```
//! A new command pre-empts what went before; a speed of 0 stops. Comments and `$god_` are passed over, anything else is a mistake.

use super::super::config::{Leg, Place, Track};
use cclab_algo::{Duration, Time};
use std::collections::BTreeMap;

/// Highest number of a node.
const MAX_NODE: usize = 9_999;

/// What a station is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Go there at this speed, m/s; 0 stops.
    To(Place, f64),
    /// Be there.
    Jump(Place),
}

/// A line that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, {text:?}: {why}")]
pub struct TraceError {
    /// Counted from 1.
    pub line: usize,
    /// As it stands there.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

/// What a file says of one station.
#[derive(Clone, Debug, Default, PartialEq)]
struct Story {
    start: [Option<f64>; 2],
    commands: Vec<(Time, Order)>,
}

/// A command as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    To(Place, f64),
    Set(usize, f64),
}

/// The track of each station that the file names, by its number.
///
/// # Errors
/// The first line that is not understood.
pub fn parse(text: &str) -> Result<BTreeMap<usize, Track>, TraceError> {
    let mut stories: BTreeMap<usize, Story> = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let error = |why| TraceError { line: number + 1, text: line.trim().chars().take(120).collect(), why };
        read_line(line, &mut stories).map_err(error)?;
    }
    let track = |(node, story): (usize, Story)| {
        let place = Place { x: story.start[0].unwrap_or_default(), y: story.start[1].unwrap_or_default() };
        (node, story.track(place))
    };
    Ok(stories.into_iter().map(track).collect())
}

/// Takes one line in.
fn read_line(line: &str, stories: &mut BTreeMap<usize, Story>) -> Result<(), String> {
    let line = line.trim().trim_end_matches(';').trim_end();
    if line.is_empty() || line.starts_with('#') || line.starts_with("$god") {
        return Ok(());
    }
    let quoted = line.split_once('"').map(|(head, rest)| (head, rest.trim_end_matches('"')));
    let (when, words) = match quoted {
        None => (None, line),
        Some((head, command)) => {
            let head: Vec<&str> = head.split_whitespace().collect();
            let [ns, "at", time] = head[..] else { return Err("is not `$ns_ at TIME \"…\"`".into()) };
            if !ns.starts_with('$') {
                return Err("is not `$ns_ at TIME \"…\"`".into());
            }
            (Some(Time::ZERO + Duration::from_secs_f64(number(time).and_then(not_negative)?)), command)
        }
    };
    let words: Vec<&str> = words.split_whitespace().collect();
    if words.first().is_some_and(|word| word.starts_with("$god")) {
        return Ok(());
    }
    let node = words.first().copied().and_then(node).ok_or("is no command of a node, $node_(NUMBER)")?;
    if node > MAX_NODE {
        return Err(format!("node {node} is too high a number; at most {MAX_NODE}"));
    }
    let order = match (&words[1..], when) {
        (["setdest", x, y, speed], Some(_)) => {
            Order::To(Place { x: number(x)?, y: number(y)? }, number(speed).and_then(not_negative)?)
        }
        (["setdest", ..], Some(_)) => return Err("setdest takes x, y and a speed".into()),
        (["set", "X_", x], _) => Order::Set(0, number(x)?),
        (["set", "Y_", y], _) => Order::Set(1, number(y)?),
        (["set", "Z_", z], _) => match number(z)? {
            0.0 => return Ok(()),
            z => return Err(format!("Z_ is {z}; stations are in a plane, Z_ is 0")),
        },
        _ => return Err("is none of `set X_ x`, `set Y_ y`, `at TIME \"… setdest x y speed\"`".into()),
    };
    let story = stories.entry(node).or_default();
    match (when, order) {
        (Some(time), order) => story.commands.push((time, order)),
        (None, Order::Set(axis, at)) => story.start[axis] = Some(at),
        (None, Order::To(..)) => unreachable!("it has a time"),
    }
    Ok(())
}

/// `$node_(3)`.
fn node(word: &str) -> Option<usize> {
    let (name, rest) = word.split_once('(')?;
    rest.strip_suffix(')').filter(|_| name.starts_with('$'))?.parse().ok()
}

fn number(word: &str) -> Result<f64, String> {
    word.parse().ok().filter(|x: &f64| x.is_finite() && x.abs() <= 1e9).ok_or(format!("{word:?} is not a number"))
}

fn not_negative(x: f64) -> Result<f64, String> {
    if x >= 0.0 { Ok(x) } else { Err(format!("{x} is negative")) }
}

impl Story {
    fn track(self, start: Place) -> Track {
        let mut commands = self.commands;
        commands.sort_by_key(|(time, _)| *time);
        let mut track = Track::standing(start);
        for (time, order) in commands {
            match order {
                Order::To(place, speed) => track.order(time, Command::To(place, speed)),
                Order::Set(axis, at) => {
                    let mut place = track.last().at(time);
                    *[&mut place.x, &mut place.y][axis] = at;
                    track.order(time, Command::Jump(place));
                }
            }
        }
        track
    }
}

impl Track {
    fn last(&self) -> &Leg {
        self.legs.last().expect("a track has a leg")
    }

    /// Adds a command, which pre-empts what goes on at that time; commands come in order of time.
    pub fn order(&mut self, time: Time, command: Command) {
        let last = self.legs.last_mut().expect("a track has a leg");
        let here = last.at(time);
        if time < last.end {
            (last.end, last.to) = (time, here);
        }
        match command {
            Command::To(place, speed) if speed > 0.0 => self.legs.push(Leg::at_speed(time, here, place, speed)),
            Command::To(..) => {}
            Command::Jump(place) => {
                // It stays where it is until then.
                self.legs.push(Leg { end: time, ..Leg::standing(time, here) });
                self.legs.push(Leg::standing(time, place));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::config::Motion;
    use super::super::Cursor;
    use super::*;
    use cclab_algo::rng::Stream;

    fn places(text: &str, node: usize, seconds: &[f64]) -> Vec<(f64, f64)> {
        let track = parse(text).expect("a trace")[&node].clone();
        let mut cursor = Cursor::new(&Motion::Along(track), Stream::new(1, "trace"));
        let place = |s: &f64| {
            let Place { x, y } = cursor.place(Time::ZERO + Duration::from_secs_f64(*s));
            ((x * 1e6).round() / 1e6, (y * 1e6).round() / 1e6)
        };
        seconds.iter().map(place).collect()
    }

    /// The two nodes of M. Greis's tutorial for ns-2 (§IX): they meet, and one goes away again.
    #[test]
    fn the_tutorial() {
        let text = r#"
            # nodes: 2
            $node_(0) set X_ 5.0
            $node_(0) set Y_ 2.0
            $node_(0) set Z_ 0.0
            $node_(1) set X_ 390.0
            $node_(1) set Y_ 385.0
            $node_(1) set Z_ 0.0
            $god_ set-dist 0 1 2
            $ns_ at 50.0 "$node_(1) setdest 25.0 20.0 15.0"
            $ns_ at 10.0 "$node_(0) setdest 20.0 18.0 1.0"
            $ns_ at 100.0 "$node_(1) setdest 490.0 480.0 15.0"
            $ns_ at 51.0 "$god_ set-dist 0 1 1"
        "#;
        let way = 481_f64.sqrt();
        assert_eq!(places(text, 0, &[10.0, 10.0 + way / 2.0, 99.0]), [(5.0, 2.0), (12.5, 10.0), (20.0, 18.0)]);
        let there = (2.0 * 365_f64 * 365.0).sqrt() / 15.0;
        let found = places(text, 1, &[50.0, 50.0 + there / 2.0, 50.0 + there, 100.0, 200.0]);
        assert_eq!(found, [(390.0, 385.0), (207.5, 202.5), (25.0, 20.0), (25.0, 20.0), (490.0, 480.0)]);
    }

    /// A new command pre-empts what went before, wherever that has come to; a speed of 0 stops.
    #[test]
    fn a_new_command_pre_empts() {
        let text = r#"
            $node_(0) set X_ 0.0
            $node_(0) set Y_ 0.0
            $ns_ at 30.0 "$node_(0) setdest 50.0 40.0 0.0"
            $ns_ at 10.0 "$node_(0) setdest 100.0 0.0 10.0"
            $ns_ at 15.0 "$node_(0) setdest 50.0 100.0 5.0"
        "#;
        let found = places(text, 0, &[5.0, 12.0, 15.0, 20.0, 30.0, 60.0]);
        assert_eq!(found, [(0.0, 0.0), (20.0, 0.0), (50.0, 0.0), (50.0, 25.0), (50.0, 75.0), (50.0, 75.0)]);
    }

    #[test]
    fn jumps() {
        let text = r#"
            $node_(2) set X_ 10.0
            $node_(2) set Y_ 20.0
            $ns_ at 5.0 "$node_(2) set X_ 900.0"
            $ns_ at 5.0 "$node_(2) set Y_ 800.0"
            $ns_ at 10.0 "$node_(2) setdest 900.0 700.0 10.0";
        "#;
        let found = places(text, 2, &[0.0, 4.999, 5.0, 9.0, 15.0, 20.0, 30.0]);
        let jumped = (900.0, 800.0);
        assert_eq!(found, [(10.0, 20.0), (10.0, 20.0), jumped, jumped, (900.0, 750.0), (900.0, 700.0), (900.0, 700.0)]);
    }

    #[test]
    fn errors_name_line_and_text() {
        let error = |line: &str| parse(&format!("# a comment\n{line}\n")).expect_err("a mistake").to_string();
        let cases = [
            ("$node_(0) set X_ fast", r#"line 2, "$node_(0) set X_ fast": "fast" is not a number"#),
            (
                "$ns_ at 1.0 \"$node_(0) setdest 1 2\"",
                r#"line 2, "$ns_ at 1.0 \"$node_(0) setdest 1 2\"": setdest takes x, y and a speed"#,
            ),
            (
                "$ns_ at -1 \"$node_(0) setdest 1 2 3\"",
                r#"line 2, "$ns_ at -1 \"$node_(0) setdest 1 2 3\"": -1 is negative"#,
            ),
            ("$node_(0) set Z_ 5", r#"line 2, "$node_(0) set Z_ 5": Z_ is 5; stations are in a plane, Z_ is 0"#),
            ("set opt(x) 1000", r#"line 2, "set opt(x) 1000": is no command of a node, $node_(NUMBER)"#),
        ];
        for (line, expected) in cases {
            assert_eq!(error(line), expected);
        }
    }
}

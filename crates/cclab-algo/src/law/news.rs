//! News of the route: what stations of an ad hoc network tell a sender, and what a sender makes of it.

use crate::units::{Duration, Time};

/// What a sender is told of its route. Offsets are those of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// TCP-F's RFN: the route is broken.
    RouteFailed,
    /// TCP-F's RRN: it is there again.
    RouteRestored,
    /// ELFN: a link of the route failed under a packet that begins at `seq`.
    LinkFailed {
        /// First offset of that packet.
        seq: u64,
    },
    /// ICMP destination unreachable (RFC 792).
    Unreachable,
    /// TCP-BuS's ERDN: the route is broken at a station that keeps what it has of the flow.
    Disconnected {
        /// First offset of what it keeps: the head of its queue.
        head: u64,
    },
    /// TCP-BuS's ERSN: the route is there again.
    Reconnected {
        /// Offset up to which the receiver has everything.
        received: u64,
    },
    /// The source's own station: the route is this long.
    Hops {
        /// Hops there and back.
        round_trip: u16,
    },
    /// The sender itself: it has stood by for as long as it said it would.
    Waited,
}

/// News came.
#[derive(Clone, Copy, Debug)]
pub struct NewsEvent {
    /// Now.
    pub now: Time,
    /// What.
    pub news: News,
}

/// What stations are to tell a sender, by what its law understands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Notices {
    /// Nothing.
    #[default]
    None,
    /// [`News::RouteFailed`] and [`News::RouteRestored`].
    TcpF,
    /// [`News::LinkFailed`].
    Elfn,
    /// [`News::Unreachable`].
    Unreachable,
    /// [`News::Disconnected`] and [`News::Reconnected`], and stations keep what they cannot forward.
    Bus,
    /// [`News::Hops`].
    Hops,
}

/// Whether a sender works. Asked for after news, and after each event while it stands by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It sends; and so it resumes if it stood by.
    Awake(Resume),
    /// It sends nothing, and its timers stand still.
    Standby(Standby),
}

impl Default for Standing {
    fn default() -> Self {
        Standing::Awake(Resume::default())
    }
}

/// How a sender resumes: its timers go on where they stood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// What lies between these offsets is taken for lost and sent again, without a reduction; duplicate ACKs mean nothing until that
    /// is acknowledged.
    pub lost: (u64, u64),
    /// What was in flight gets another RTO to arrive in.
    pub double_rto: bool,
}

/// How a sender stands by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standby {
    /// Then, and again and again, the first unacknowledged segment leaves; [`Duration::MAX`] never.
    pub probe: Duration,
    /// Each later one after twice as long as the last, up to this.
    pub longest_probe: Duration,
    /// Then it tells the law that it has [`News::Waited`].
    pub patience: Duration,
}

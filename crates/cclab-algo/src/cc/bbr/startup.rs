//! STARTUP: the rate doubles each round until BtlBw stops growing, and the pipe is full.

/// It goes on while BtlBw grows by a quarter in three rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// Whether the pipe is full.
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    /// It is.
    pub reached: bool,
    /// What is to be exceeded by a quarter, bit/s.
    pub bw: f64,
    /// Rounds without that.
    rounds: u32,
}

impl FullPipe {
    /// A round ended that the application did not limit.
    pub fn on_round(&mut self, btl_bw: f64) {
        if self.reached {
            return;
        }
        if btl_bw >= FULL_GROWTH * self.bw {
            self.bw = btl_bw;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= FULL_ROUNDS;
    }

    /// The plateau was not one.
    pub fn look_again(&mut self) {
        self.bw = 0.0;
        self.rounds = 0;
    }
}

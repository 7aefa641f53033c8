//! Vegas, round by round.

use cellcc_fixed::vegas::{Config, Vegas};
use cellcc_fixed::{Ack, Law, Micros, Packets, Window};

struct Flow {
    state: Vegas,
    window: Window,
    delivered: u32,
}

impl Flow {
    fn new(cwnd: u32, ssthresh: Packets) -> Self {
        Self { state: Vegas::START, window: Window { cwnd: Packets(cwnd), ssthresh }, delivered: 0 }
    }

    /// Acknowledges a window; returns the last decision about Reno's law.
    fn round(&mut self, rtt: u32) -> Law {
        let window = self.window.cwnd.0;
        let mut law = Law::Rests;
        for _ in 0..window {
            let delivered_at_send = Packets(self.delivered.saturating_sub(window - 1));
            self.delivered += 1;
            let ack = Ack {
                rtt: Micros(rtt),
                delivered: Packets(self.delivered),
                delivered_at_send,
                cwnd_limited: true,
                ..Ack::default()
            };
            self.state.on_sample(&ack);
            law = self.state.on_ack(&Config::LINUX, &ack, &mut self.window);
        }
        law
    }
}

/// A flow of 100 packets that has seen an empty queue.
fn cruising() -> Flow {
    let mut flow = Flow::new(100, Packets(50));
    flow.round(100_000);
    flow.round(100_000);
    flow
}

#[test]
fn the_window_moves_by_a_packet_a_round_towards_two_to_four_in_the_queue() {
    for (rtt, step) in [(101_000, 1), (103_000, 0), (106_000, -1)] {
        let mut flow = cruising();
        flow.round(rtt);
        let before = flow.window.cwnd.0;
        flow.round(rtt);
        assert_eq!(flow.window.cwnd.0 as i32 - before as i32, step, "{rtt} us");
    }
}

#[test]
fn a_fraction_of_a_packet_counts() {
    let mut flow = cruising();
    flow.window.cwnd = Packets(100);
    flow.round(104_100);
    flow.window.cwnd = Packets(100);
    flow.round(104_100);
    assert_eq!(flow.window.cwnd, Packets(99), "4.1 packets are more than four");
}

#[test]
fn more_than_a_packet_in_the_queue_ends_slow_start_at_what_fits() {
    let mut flow = Flow::new(100, Packets::INFINITE_SSTHRESH);
    assert_eq!(flow.round(100_000), Law::Grows);
    flow.round(125_000);
    flow.window.cwnd = Packets(100);
    flow.round(125_000);
    assert_eq!(flow.window, Window { cwnd: Packets(81), ssthresh: Packets(81) });
}

#[test]
fn a_round_of_two_samples_is_renos() {
    let mut flow = Flow::new(2, Packets(1));
    flow.round(100_000);
    assert_eq!(flow.round(150_000), Law::Rests, "the second of two");
    assert_eq!(flow.window.cwnd, Packets(2), "nothing is decided of it");
    assert_eq!(flow.state.diff(), None);
}

#[test]
fn idling_forgets_the_empty_queue() {
    let mut flow = cruising();
    flow.state.on_idle_restart(Packets(flow.delivered));
    assert_eq!(flow.state.base_rtt(), None);
    flow.round(150_000);
    assert_eq!(flow.state.base_rtt(), Some(Micros(150_000)));
}

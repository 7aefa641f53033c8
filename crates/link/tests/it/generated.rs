//! Recordings whose truth is known: logs of grants from a channel with two states, and pings with a cycle of requests.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use std::fmt::Write;

pub(crate) struct Random(Pcg64Mcg);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// In [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn happens(&mut self, share: f64) -> bool {
        self.uniform() < share
    }
}

pub(crate) const HEADER: &str = "timestamp,system_frame_index,slot_index,rnti,rnti_type,dci_format,mcs_index,redundancy_version,\
                          new_data_indicator,harq_id\n";

/// The failures of one phone's blocks, and the receiver's misses.
#[derive(Clone, Copy)]
pub(crate) struct Channel {
    pub(crate) failed: f64,
    pub(crate) bad: f64,
    pub(crate) failed_when_bad: f64,
    pub(crate) memory_ms: f64,
    pub(crate) again_ms: u64,
    pub(crate) again_fails: f64,
    pub(crate) later_fails: f64,
    pub(crate) slots_per_frame: u64,
    /// Share of the grants that the receiver misses.
    pub(crate) missed: f64,
    pub(crate) format: &'static str,
}

impl Channel {
    /// The values of `harq=fdd`.
    pub(crate) const FDD: Self = Self {
        failed: 0.06,
        bad: 0.08,
        failed_when_bad: 0.6,
        memory_ms: 12.0,
        again_ms: 7,
        again_fails: 0.15,
        later_fails: 0.35,
        slots_per_frame: 10,
        missed: 0.0,
        format: "1_1",
    };

    fn failed_when_good(&self) -> f64 {
        (self.failed - self.bad * self.failed_when_bad) / (1.0 - self.bad)
    }

    /// A log of a phone that has something to send in stretches of 0.4 s, with pauses of as much: a block in each slot, and the
    /// repetitions that are due with it, so that the channel says nothing of when blocks are sent.
    pub(crate) fn log(&self, blocks: usize, seed: u64) -> String {
        let (mut random, mut text) = (Random::new(seed), HEADER.to_owned());
        let slot_ms = 10.0 / self.slots_per_frame as f64;
        let forgets = 1.0 - libm::exp(-slot_ms / self.memory_ms);
        let again = (self.again_ms as f64 / slot_ms) as u64;
        let (mut is_bad, mut sent, mut slot) = (random.happens(self.bad), 0, 0);
        // State of each process: its new-data indicator, and the next retransmission, with its slot.
        let mut processes = [(0, None); 16];
        while sent < blocks || processes.iter().any(|(_, repetition)| repetition.is_some()) {
            if random.happens(forgets) {
                is_bad = random.happens(self.bad);
            }
            let is_stretch = ((slot as f64 * slot_ms / 400.0) as u64).is_multiple_of(2);
            let has_data = sent < blocks && is_stretch;
            let mut in_turn = (0..16).map(|next| (sent + next) % 16);
            let free = in_turn.find(|&process| has_data && processes[process].1.is_none());
            for (process, (new_data, repetition)) in processes.iter_mut().enumerate() {
                let number = match *repetition {
                    Some((at, number)) if at == slot => number,
                    None if free == Some(process) => 0,
                    _ => continue,
                };
                if number == 0 {
                    *new_data ^= 1;
                    sent += 1;
                }
                let fails = match number {
                    0 if is_bad => self.failed_when_bad,
                    0 => self.failed_when_good(),
                    1 => self.again_fails,
                    _ => self.later_fails,
                };
                *repetition = random.happens(fails).then_some((slot + again, number + 1));
                if !random.happens(self.missed) {
                    self.line(&mut text, slot, process, *new_data, number, &mut random);
                }
            }
            slot += 1;
        }
        text
    }

    fn line(
        &self,
        text: &mut String,
        slot: u64,
        process: usize,
        new_data: u8,
        number: usize,
        random: &mut Random,
    ) {
        let per_frame = self.slots_per_frame;
        let clock = 1.7275e9 + slot as f64 * 0.01 / per_frame as f64 + 0.005 * random.uniform();
        let (frame, within) = ((slot / per_frame + 900) % 1024, slot % per_frame);
        let version = [0, 2, 3, 1][number % 4];
        let format = self.format;
        writeln!(text, "{clock:.6},{frame},{within},20844,C-RNTI,{format},9,{version},{new_data},{process}")
            .unwrap();
    }
}

/// Pings of one phone.
#[derive(Clone, Copy)]
pub(crate) struct Pinged {
    pub(crate) interval_ms: f64,
    pub(crate) base_ms: f64,
    /// A cycle of requests, or none: then a packet waits at random for as long.
    pub(crate) cycle_ms: f64,
    pub(crate) has_cycle: bool,
    /// The extra delay of the first ping.
    pub(crate) wake_ms: f64,
    pub(crate) lost: f64,
    pub(crate) stamps: bool,
}

impl Pinged {
    /// A phone that answers every ping, and asks for grants every 20 ms.
    pub(crate) const ASKS: Self = Self {
        interval_ms: 200.7,
        base_ms: 34.0,
        cycle_ms: 20.0,
        has_cycle: true,
        wake_ms: 0.0,
        lost: 0.0,
        stamps: true,
    };

    /// A run of 150 pings.
    pub(crate) fn run(&self, seed: u64) -> String {
        let mut random = Random::new(seed);
        let phase = random.uniform() * self.cycle_ms;
        let (mut text, mut received) = ("PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n".to_owned(), 0);
        for number in 1..=150_u32 {
            let sent_ms = f64::from(number - 1) * self.interval_ms;
            let wait = if self.has_cycle { phase - sent_ms } else { random.uniform() * self.cycle_ms };
            let noise = 2.0 * random.uniform();
            let rtt_ms = self.base_ms
                + wait.rem_euclid(self.cycle_ms)
                + noise
                + if number == 1 { self.wake_ms } else { 0.0 };
            if random.happens(self.lost) {
                continue;
            }
            received += 1;
            if self.stamps {
                write!(text, "[{:.6}] ", 1.7275e9 + (sent_ms + rtt_ms) / 1e3).unwrap();
            }
            writeln!(text, "64 bytes from 192.0.2.1: icmp_seq={number} ttl=117 time={rtt_ms:.1} ms").unwrap();
        }
        let lost = (150 - received) as f64 / 1.5;
        let took = 149.0 * self.interval_ms;
        text += "\n--- 192.0.2.1 ping statistics ---\n";
        writeln!(
            text,
            "150 packets transmitted, {received} received, {lost:.4}% packet loss, time {took:.0}ms"
        )
        .unwrap();
        text + "rtt min/avg/max/mdev = 34.1/45.0/56.2/5.8 ms\n"
    }
}

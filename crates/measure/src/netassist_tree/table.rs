//! The tables.

use super::needs::{BROKER, DAEMON, ProcessCost, SERVER};
use super::region::{Flow, Link, Outcome, PERIOD, Plan, Sizes, run};
use cellcc_units::{Span, Time};
use std::fmt;

/// Equal regions, one of which fails.
pub(crate) struct Tree {
    regions: u64,
    plan: Plan,
}

impl Tree {
    pub(crate) fn of_ten_million_users() -> Self {
        let at = |secs| Time::ZERO + Span::from_secs(secs);
        let plan = Plan {
            sites: 10,
            users_per_site: 5_000,
            one_active_of: 5,
            servers: 50,
            waits_are_drawn: true,
            outage: Some((at(20), at(50))),
            is_silent: true,
            boot: Span::from_secs(5),
            until: at(100),
            seed: 1,
        };
        Self { regions: 200, plan }
    }
}

/// Every request has been repeated once: the longest wait of five seconds after one of five, ten seconds of renewals.
const BUSY_SECONDS: usize = 20;

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { regions, plan } = self;
        let users = (plan.sites * plan.users_per_site) as u64 * regions;
        writeln!(
            f,
            "{users} users: {regions} regions with {} sites of {} users and {} servers; one user of {} has a flow\n",
            plan.sites, plan.users_per_site, plan.servers, plan.one_active_of
        )?;
        let steady = run(&Plan { outage: None, ..*plan });
        let failed = run(plan);
        self.links(f, &steady, &failed)?;
        self.outages(f, &failed)?;
        self.nodes(f, &steady)
    }
}

impl Tree {
    fn links(&self, f: &mut fmt::Formatter<'_>, steady: &Outcome, failed: &Outcome) -> fmt::Result {
        let sizes = Sizes::of_examples();
        let seconds = seconds_before(self.plan.until);
        let (_, ends) = self.plan.outage.unwrap_or((Time::ZERO, Time::ZERO));
        let back = seconds_before(ends)..(seconds_before(ends) + BUSY_SECONDS).min(seconds);
        writeln!(
            f,
            "| each link | of them | messages/s | kB/s | busiest second after the outage: messages | kB |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for link in Link::ALL {
            let of_them =
                self.regions * if link.is_of_a_site() { self.plan.sites } else { self.plan.servers } as u64;
            let total: u64 = Flow::ALL.iter().map(|flow| steady.links.total(link, *flow)).sum();
            let bytes: u64 =
                Flow::ALL.iter().map(|flow| steady.links.total(link, *flow) * sizes.of(link, *flow)).sum();
            let per_link = of_them / self.regions * seconds as u64;
            let (messages, busy_bytes) = failed.links.busiest(link, back.clone(), &sizes);
            writeln!(
                f,
                "| {} | {of_them} | {} | {} | {messages} | {} |",
                link.name(),
                total / per_link,
                bytes / per_link / 1000,
                busy_bytes / 1000
            )?;
        }
        let flows =
            |flow| Link::ALL.iter().map(|link| steady.links.total(*link, flow)).sum::<u64>() / seconds as u64;
        let per_s = |flow| flows(flow) * self.regions;
        writeln!(
            f,
            "\nIn all, messages/s over all links: {} records, {} requests, {} grants, {} refusals\n",
            per_s(Flow::Records),
            per_s(Flow::Requests),
            per_s(Flow::Grants),
            per_s(Flow::Refusals)
        )
    }

    fn outages(&self, f: &mut fmt::Formatter<'_>, failed: &Outcome) -> fmt::Result {
        let Some((begins, ends)) = self.plan.outage else { return Ok(()) };
        writeln!(
            f,
            "A region that is gone for {} s, and whose sites are back within {} s of its hub:\n",
            ends.since(begins).as_secs_f64(),
            self.plan.boot.as_secs_f64()
        )?;
        writeln!(
            f,
            "| failure | waits of servers | servers back within 100 ms, at most | users informed again after, s: median | p95 | all | requests meanwhile | refused as too fast |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for (is_silent, waits_are_drawn) in [(true, true), (true, false), (false, true), (false, false)] {
            let outcome = run(&Plan { is_silent, waits_are_drawn, ..self.plan });
            let what = if is_silent { "power" } else { "processes" };
            let waits = if waits_are_drawn { "drawn" } else { "all the longest" };
            let mut reported: Vec<f64> = outcome
                .whole_at
                .iter()
                .map(|at| at.map_or(f64::INFINITY, |at| at.since(ends).as_secs_f64()))
                .collect();
            reported.sort_by(f64::total_cmp);
            let at = |share: f64| reported[((share * reported.len() as f64).ceil() as usize).max(1) - 1];
            writeln!(
                f,
                "| {what} | {waits} | {} | {:.1} | {:.1} | {:.1} | {} | {} |",
                outcome.most_connections_within(Span::from_millis(100)),
                at(0.5),
                at(0.95),
                at(1.0),
                outcome.links.total(Link::ServerToHub, Flow::Requests),
                outcome.too_fast
            )?;
        }
        let delivered: u64 = failed.delivered.iter().sum();
        writeln!(
            f,
            "\nOf {} records that its daemons made about users with a flow, {delivered} reached the user's server and {} came before its subscription.\n",
            failed.made, failed.without_subscription
        )
    }

    fn nodes(&self, f: &mut fmt::Formatter<'_>, steady: &Outcome) -> fmt::Result {
        let Plan { sites, users_per_site, servers, .. } = self.plan;
        let per_s = |users: u64| users as f64 * 1000.0 / PERIOD.as_millis_f64();
        let of_site = users_per_site as u64;
        let active = steady.users_of.iter().sum::<u64>();
        let of_server = steady.users_of.iter().copied().max().unwrap_or_default();
        let sites = sites as u64;
        writeln!(
            f,
            "| each node | of them | users | records/s | processors | memory, MiB |\n|---|---|---|---|---|---|"
        )?;
        let mut row = |name: &str, of_them: u64, users: u64, records: f64, needs: ProcessCost| {
            let mib = needs.program_mib + (users * needs.bytes_per_user) as f64 / f64::from(1 << 20);
            let processors = records * needs.us_per_record / 1e6;
            writeln!(f, "| {name} | {of_them} | {users} | {records:.0} | {processors:.2} | {mib:.0} |")
        };
        row("daemon", sites * self.regions, of_site, per_s(of_site), DAEMON)?;
        // Each leaf has the subscriptions of the whole region.
        row("leaf", sites * self.regions, active, per_s(of_site), BROKER)?;
        row("hub", self.regions, active, per_s(active), BROKER)?;
        row("server", servers as u64 * self.regions, of_server, per_s(of_server), SERVER)
    }
}

fn seconds_before(at: Time) -> usize {
    (at.as_nanos() / 1_000_000_000) as usize
}

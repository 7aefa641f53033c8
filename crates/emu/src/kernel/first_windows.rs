//! The first windows of a run's flows, which Linux has per route, hence per user.

use cellcc_experiment::{ResolveError, Scenario};
use cellcc_units::FirstWindow;
use std::collections::BTreeMap;

/// The first window of each user, in packets, where it is not the kernel's own.
pub(crate) type FirstWindows = BTreeMap<usize, u32>;

/// The first windows of a Scenario.
///
/// # Errors
/// Flows of one user have different ones.
pub(crate) fn first_windows(scenario: &Scenario) -> Result<FirstWindows, ResolveError> {
    let packet = scenario.endpoint.packet();
    let packets = |window: FirstWindow| window.of_packets(packet).get() / packet.get();
    let mut windows = BTreeMap::new();
    for flow in &scenario.flows {
        let window = packets(scenario.initial_window(flow));
        let first = *windows.entry(flow.user).or_insert(window);
        if first != window {
            return Err(ResolveError(format!(
                "initial_window: the flows of user {} have {first} and {window} packets, and Linux has one first window for all \
                 connections to a host; give them the same, or write --driver sim",
                flow.user
            )));
        }
    }
    let own = packets(FirstWindow::default());
    let others = windows.into_iter().filter(|(_, window)| *window != own);
    // A Scenario's first window has at most a million packets.
    Ok(others.map(|(user, window)| (user, u32::try_from(window).unwrap_or(u32::MAX))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::realtime::fixtures::{flow, scenario};
    use cellcc_experiment::{FlowSetup, Support};

    fn windows(flows: &[(usize, Option<&str>)]) -> Result<Vec<(usize, u32)>, String> {
        let flows = flows.iter().map(|(user, window)| FlowSetup {
            user: *user,
            initial_window: window.map(|window| window.parse().unwrap()),
            ..flow("bulk")
        });
        let flows = flows.collect();
        let scenario = Scenario { flows, ..scenario(Support::KERNEL.driver, &flow("bulk")) };
        let windows = first_windows(&scenario).map_err(|error| error.to_string())?;
        Ok(windows.into_iter().collect())
    }

    #[test]
    fn a_user_has_the_first_window_of_its_flows_in_whole_packets() {
        let given = [(0, Some("32pkt")), (1, Some("48.9kB")), (2, Some("1B")), (0, Some("48kB"))];
        assert_eq!(windows(&given), Ok(vec![(0, 32), (1, 32), (2, 1)]));
    }

    #[test]
    fn the_kernels_own_first_window_needs_no_route() {
        assert_eq!(windows(&[(0, None), (0, Some("10pkt"))]), Ok(vec![]));
    }

    #[test]
    fn flows_of_one_user_with_different_first_windows_are_refused() {
        let error = windows(&[(0, None), (1, None), (1, Some("32pkt"))]).unwrap_err();
        assert!(error.contains("the flows of user 1 have 10 and 32 packets"), "{error}");
    }
}

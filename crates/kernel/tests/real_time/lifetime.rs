//! Loading, using, setting, unloading.

use crate::kernel::{Kernel, available, connect, ours, run, transfer};
use cellcc_kernel::{KernelError, Machine, Pins, Scheme, Settings, Sockets, Unseen, Written};
use std::io::Write;
use std::net::TcpListener;

#[test]
fn every_scheme_carries_bytes_after_its_loader_is_gone() {
    let Some(kernel) = Kernel::take() else { return };
    for scheme in Scheme::ALL {
        kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
        assert_eq!(transfer(scheme.name(), 10_000_000).expect("carried"), scheme.name());
        kernel.pins.unload(scheme).expect("unloaded");
    }
}

#[test]
fn nothing_stays_of_what_was_unloaded() {
    let Some(kernel) = Kernel::take() else { return };
    for scheme in Scheme::ALL {
        kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    }
    assert_eq!(kernel.pins.loaded(), Scheme::ALL);
    for scheme in Scheme::ALL {
        kernel.pins.unload(scheme).expect("unloaded");
        assert!(!available().iter().any(|name| name == scheme.name()));
    }
    let left: Vec<_> = std::fs::read_dir(kernel.folder())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name == "cellcc")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_a_killed_load_left_is_removed() {
    let Some(kernel) = Kernel::take() else { return };
    let scheme = ours("cellcc_reminis");
    // As far as a load gets before it pins the link.
    std::fs::create_dir_all(kernel.folder().join("cellcc").join(scheme.name())).expect("a folder");
    assert_eq!((kernel.pins.loaded(), kernel.pins.present()), (vec![], vec![scheme]));
    kernel.pins.unload(scheme).expect("unloaded");
    assert!(kernel.pins.present().is_empty() && !kernel.folder().join("cellcc").exists());
}

#[test]
fn settings_are_what_was_set_last() {
    let Some(kernel) = Kernel::take() else { return };
    for text in [
        "reminis(dtt=40ms)",
        "natcp(alpha=3)",
        "vegas(alpha=3pkt)",
        "westwood(profile=linux)",
        "c2tcp(target=60ms)",
        "tide(delay=8ms)",
    ] {
        let Written { scheme, settings: set, .. } = Written::read(text).expect("read").expect("a scheme");
        let default = Settings::default_of(scheme);
        kernel.pins.load(scheme, &default, &kernel.machine).expect("loaded");
        assert_eq!(kernel.pins.settings(scheme).expect("settings"), default);
        assert_ne!(set, default);
        kernel.pins.set(scheme, &set).expect("set");
        assert_eq!(kernel.pins.settings(scheme).expect("settings"), set);
        kernel.pins.unload(scheme).expect("unloaded");
    }
}

#[test]
fn what_is_loaded_is_not_loaded_again_and_what_is_not_is_not_unloaded() {
    let Some(kernel) = Kernel::take() else { return };
    let (scheme, settings) = (ours("cellcc_reminis"), Settings::default_of(ours("cellcc_reminis")));
    let unloaded = kernel.pins.unload(scheme);
    assert!(matches!(unloaded, Err(KernelError::NotLoaded(_))), "{unloaded:?}");
    kernel.pins.load(scheme, &settings, &kernel.machine).expect("loaded");
    let again = kernel.pins.load(scheme, &settings, &kernel.machine);
    assert!(matches!(again, Err(KernelError::LoadedAlready(_))), "{again:?}");
}

#[test]
fn of_two_loads_at_once_one_loads_and_the_other_says_that_it_is_loaded() {
    // The one that failed to attach removed the other's pins: "is loaded", and nothing was.
    let Some(kernel) = Kernel::take() else { return };
    let (scheme, settings) = (ours("cellcc_reminis"), Settings::default_of(ours("cellcc_reminis")));
    for _ in 0..3 {
        let load = || kernel.pins.load(scheme, &settings, &kernel.machine);
        let [one, other] = std::thread::scope(|scope| {
            [scope.spawn(load), scope.spawn(load)].map(|thread| thread.join().expect("no panic"))
        });
        assert!(
            matches!((&one, &other), (Ok(()), Err(KernelError::LoadedAlready(_))))
                || matches!((&one, &other), (Err(KernelError::LoadedAlready(_)), Ok(()))),
            "{one:?} {other:?}"
        );
        assert_eq!(kernel.pins.loaded(), [scheme]);
        assert_eq!(kernel.pins.settings(scheme).expect("settings"), settings);
        assert_eq!(transfer(scheme.name(), 100_000).expect("carried"), scheme.name());
        kernel.pins.unload(scheme).expect("unloaded");
    }
}

#[test]
fn of_loads_unloads_and_upgrades_at_once_what_was_said_to_be_done_is_so() {
    let Some(kernel) = Kernel::take() else { return };
    let (scheme, settings) = (ours("cellcc_reminis"), Settings::default_of(ours("cellcc_reminis")));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..5).for_each(|_| drop(kernel.pins.load(scheme, &settings, &kernel.machine))));
            scope.spawn(|| (0..5).for_each(|_| drop(kernel.pins.unload(scheme))));
            scope.spawn(|| (0..5).for_each(|_| drop(kernel.pins.upgrade(scheme, &kernel.machine))));
        }
    });
    let is_pinned = !kernel.pins.loaded().is_empty();
    assert_eq!(available().iter().any(|name| name == scheme.name()), is_pinned);
    assert_eq!(!kernel.pins.present().is_empty(), is_pinned);
    kernel.pins.load_or_replace(scheme, &settings, &kernel.machine).expect("loaded");
}

#[test]
fn what_is_loaded_is_replaced_where_that_is_asked_for_and_else_loaded() {
    // A service whose second step had failed could never start again.
    let Some(kernel) = Kernel::take() else { return };
    let scheme = ours("cellcc_reminis");
    let with = |dtt: &str| {
        let written = Written::read(&format!("reminis(dtt={dtt})"));
        let Written { settings, .. } = written.expect("a target").expect("a scheme");
        kernel.pins.load_or_replace(scheme, &settings, &kernel.machine).expect("loaded");
        assert_eq!(kernel.pins.settings(scheme).expect("settings"), settings);
        kernel.pins.programs(scheme).expect("programs")
    };
    let programs = [with("40ms"), with("40ms"), with("60ms")];
    assert!(programs[0] != programs[1] && programs[1] != programs[2], "{programs:?}");
    assert_eq!(transfer(scheme.name(), 100_000).expect("carried"), scheme.name());
    kernel.pins.unload(scheme).expect("unloaded");
}

#[test]
fn what_is_loaded_elsewhere_is_named_with_the_reason_and_what_to_do() {
    // "Nothing is loaded", where `ip netns exec` hid the pins.
    let Some(kernel) = Kernel::take() else { return };
    let (scheme, settings) = (ours("cellcc_reminis"), Settings::default_of(ours("cellcc_reminis")));
    let hidden = Pins::new(kernel.scratch().join("cellcc"));
    assert!(matches!(hidden.nothing_loaded(), KernelError::NothingLoaded));
    assert!(hidden.elsewhere(&Scheme::ALL).is_none());
    kernel.pins.load(scheme, &settings, &kernel.machine).expect("loaded");
    assert!(kernel.pins.elsewhere(&Scheme::ALL).is_none());
    for error in [hidden.nothing_loaded(), hidden.unload(scheme).expect_err("not here")] {
        let text = error.to_string();
        assert!(matches!(error, KernelError::Elsewhere { because: Unseen::NoFileSystem, .. }), "{text}");
        assert!(text.contains(scheme.name()) && text.contains("nsenter --net="), "{text}");
    }
    let other = Pins::new(kernel.folder().join("elsewhere"));
    for error in [
        other.load(scheme, &settings, &kernel.machine).expect_err("taken"),
        other.set(scheme, &settings).expect_err("not here"),
        other.unload(scheme).expect_err("not here"),
    ] {
        let text = error.to_string();
        assert!(matches!(error, KernelError::Elsewhere { because: Unseen::OtherPins, .. }), "{text}");
        assert!(text.contains(scheme.name()) && text.contains("--pins"), "{text}");
    }
    assert!(!kernel.folder().join("elsewhere").exists() && kernel.pins.loaded() == [scheme]);
}

#[test]
fn a_refused_scheme_leaves_no_pins() {
    let Some(kernel) = Kernel::take() else { return };
    let lacking = Machine { functions: Default::default(), ..kernel.machine.clone() };
    let scheme = ours("cellcc_reminis");
    let refused = kernel.pins.load(scheme, &Settings::default_of(scheme), &lacking).expect_err("refused");
    assert!(refused.to_string().contains("tcp_reno_cong_avoid"), "{refused}");
    let elsewhere = Pins::new("/tmp/cellcc").load(scheme, &Settings::default_of(scheme), &kernel.machine);
    let text = elsewhere.expect_err("no BPF file system").to_string();
    assert!(text.contains("mount -t bpf"), "{text}");
    assert!(!available().iter().any(|name| name == scheme.name()));
}

#[test]
fn unloading_resets_the_namespaces_and_routes_that_use_a_scheme() {
    let Some(kernel) = Kernel::take() else { return };
    let (scheme, space) = (ours("cellcc_reminis"), "cellcc-test-reset");
    kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    let _ = std::process::Command::new("ip").args(["netns", "del", space]).output(); // Left by a killed test.
    run("ip", &["netns", "add", space]);
    let in_space = |command: &str| run("ip", &["netns", "exec", space, "sh", "-c", command]);
    let name = scheme.name();
    in_space(&format!(
        "ip link set lo up; ip route add 10.9.0.0/16 dev lo mtu 1400 congctl {name}
         ip -6 route add fd00::/32 dev lo congctl {name}
         echo {name} >/proc/sys/net/ipv4/tcp_congestion_control"
    ));
    let resets = kernel.pins.unload(scheme);
    let left =
        in_space("cat /proc/sys/net/ipv4/tcp_congestion_control; ip route; ip -6 route show fd00::/32");
    run("ip", &["netns", "del", space]);
    let resets = resets.expect("unloaded");
    assert_eq!(resets.len(), 3, "{resets:?}");
    assert!(resets.iter().all(|reset| reset.what.ends_with("cellcc-test-reset")), "{resets:?}");
    assert!(!left.contains(name) && left.contains("mtu 1400") && left.contains("fd00::/32"), "{left}");
}

#[test]
fn live_sockets_are_listed_with_their_windows_and_zones() {
    let Some(kernel) = Kernel::take() else { return };
    for scheme in Scheme::ALL {
        kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    }
    let sockets = Sockets::open().expect("a list");
    assert_eq!(sockets.list().expect("listed"), []);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let open: Vec<_> = Scheme::ALL
        .into_iter()
        .map(|scheme| {
            let mut own = connect(scheme.name(), address).expect("connected");
            let (mut peer, _) = listener.accept().expect("accepted");
            let reader = std::thread::spawn(move || std::io::copy(&mut peer, &mut std::io::sink()));
            // Some of Reminis' sampling intervals, of 2 ms each, with samples.
            for _ in 0..10 {
                own.write_all(&vec![7; 200_000]).expect("sent");
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
            (own, reader)
        })
        .collect();
    let listed = sockets.list().expect("listed");
    for scheme in Scheme::ALL {
        let socket = listed.iter().find(|socket| socket.scheme == scheme).expect("one of each");
        assert!(socket.cwnd > 0 && socket.min_rtt.is_some() && !socket.srtt.is_zero(), "{socket:?}");
        assert!(socket.name.to_string().ends_with(&address.to_string()), "{socket:?}");
        let shows_state = scheme == ours("cellcc_reminis");
        assert_eq!(
            (socket.target.is_some(), socket.zone.is_some()),
            (shows_state, shows_state),
            "{socket:?}"
        );
    }
    for (own, reader) in open {
        drop(own);
        reader.join().expect("a reader").expect("read");
    }
}

//! The schemes that this machine can run, and the reasons against others.

use crate::error::{Capability, Refusal, Release};
use crate::schemes::{Scheme, module_of};
use libbpf_rs::btf::{Btf, types::Func};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The relevant facts of a kernel and of this process's rights. A test makes up one that is older or has less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The kernel's version.
    pub release: Release,
    /// The kernel describes its types (BTF).
    pub has_type_information: bool,
    /// The rights of this process.
    pub capabilities: BTreeSet<Capability>,
    /// The kernel's functions among those that the schemes call.
    pub functions: BTreeSet<&'static str>,
}

impl Machine {
    /// This machine, with the rights of this process.
    pub fn current() -> Self {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            release: Release::read(&release).unwrap_or(Release { major: 0, minor: 0 }),
            has_type_information: Path::new("/sys/kernel/btf/vmlinux").exists(),
            capabilities: own_capabilities(),
            functions: known_functions(),
        }
    }

    /// Checks that a scheme can be loaded here.
    ///
    /// # Errors
    /// The first thing that is missing.
    pub fn permits(&self, scheme: Scheme) -> Result<(), Refusal> {
        let needed = scheme.since();
        if self.release < needed {
            return Err(Refusal::OldKernel { scheme: scheme.name(), needed, found: self.release });
        }
        if !self.has_type_information {
            return Err(Refusal::NoTypeInformation);
        }
        if let Some(missing) = Capability::ALL.into_iter().find(|right| !self.capabilities.contains(right)) {
            return Err(Refusal::NotPermitted { missing });
        }
        match scheme.functions().iter().find(|function| !self.functions.contains(*function)) {
            None => Ok(()),
            Some(function) => {
                let remedy = match module_of(function) {
                    Some(module) => {
                        format!("load its module first (modprobe {module}), or use a kernel that has it")
                    }
                    None => "use a kernel that has it".into(),
                };
                Err(Refusal::NoFunction { scheme: scheme.name(), function, remedy })
            }
        }
    }
}

/// Links of programs to an interface (tcx).
const NETWORK_PROGRAMS_SINCE: Release = Release { major: 6, minor: 6 };

impl Machine {
    /// Checks that programs can be attached to an interface here.
    pub(crate) fn permits_network_programs(&self, what: &'static str) -> Result<(), Refusal> {
        let (needed, found) = (NETWORK_PROGRAMS_SINCE, self.release);
        if found < needed {
            return Err(Refusal::OldKernel { scheme: what, needed, found });
        }
        let needed = [Capability::Bpf, Capability::NetAdmin];
        match needed.into_iter().find(|right| !self.capabilities.contains(right)) {
            Some(missing) => Err(Refusal::NotPermitted { missing }),
            None => Ok(()),
        }
    }
}

/// The effective capabilities of this process (proc_pid_status(5)).
fn own_capabilities() -> BTreeSet<Capability> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default();
    let set = u64::from_str_radix(line.trim(), 16).unwrap_or(0);
    Capability::ALL.into_iter().filter(|capability| capability.is_in(set)).collect()
}

/// The schemes' functions that the kernel describes. A loaded module describes its own.
fn known_functions() -> BTreeSet<&'static str> {
    let kernel = Btf::from_vmlinux().ok();
    let in_kernel =
        |name: &str| kernel.as_ref().is_some_and(|btf| btf.type_by_name::<Func<'_>>(name).is_some());
    let in_module =
        |name: &str| module_of(name).is_some_and(|module| Path::new("/sys/kernel/btf").join(module).exists());
    let needed = Scheme::ALL.into_iter().flat_map(|scheme| scheme.functions());
    needed.copied().filter(|name| in_kernel(name) || in_module(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(name: &str) -> Scheme {
        Scheme::named(name).expect("a scheme of ours")
    }

    fn able() -> Machine {
        Machine {
            release: Release { major: 6, minor: 12 },
            has_type_information: true,
            capabilities: Capability::ALL.into(),
            functions: Scheme::ALL.into_iter().flat_map(|scheme| scheme.functions()).copied().collect(),
        }
    }

    fn refusal(machine: &Machine) -> String {
        machine.permits(ours("cellcc_reminis")).expect_err("a refusal").to_string()
    }

    #[test]
    fn a_machine_that_has_everything_is_permitted() {
        assert!(Scheme::ALL.into_iter().all(|scheme| able().permits(scheme).is_ok()));
    }

    #[test]
    fn each_thing_that_is_missing_is_named_with_what_to_do() {
        let old = refusal(&Machine { release: Release { major: 6, minor: 1 }, ..able() });
        assert!(old.contains("needs Linux 6.4 or newer, and this is 6.1"), "{old}");
        let without_flags = Machine { release: Release { major: 6, minor: 6 }, ..able() };
        assert!(without_flags.permits(ours("cellcc_nacubic")).is_ok());
        let control = without_flags.permits(ours("cellcc_natcp")).expect_err("a refusal").to_string();
        assert!(control.contains("cellcc_natcp needs Linux 6.10"), "{control}");
        let untyped = refusal(&Machine { has_type_information: false, ..able() });
        assert!(untyped.contains("CONFIG_DEBUG_INFO_BTF"), "{untyped}");
        for missing in Capability::ALL {
            let mut machine = able();
            machine.capabilities.remove(&missing);
            let text = refusal(&machine);
            assert!(text.contains(&format!("needs {missing}")) && text.contains("as root"), "{text}");
        }
        for (scheme, function) in Scheme::ALL
            .into_iter()
            .flat_map(|scheme| scheme.functions().iter().map(move |function| (scheme, function)))
        {
            let mut machine = able();
            machine.functions.remove(function);
            let text = machine.permits(scheme).expect_err("a refusal").to_string();
            assert!(text.contains(&format!("needs `{function}`")), "{text}");
            assert_eq!(text.contains("modprobe tcp_bbr"), function.starts_with("bbr_"), "{text}");
        }
    }

    #[test]
    fn counting_on_an_interface_needs_no_type_information() {
        let untyped = Machine { has_type_information: false, ..able() };
        assert_eq!(untyped.permits_host_counters(), Ok(()));
        let old = Machine { release: Release { major: 6, minor: 1 }, ..able() };
        let text = old.permits_host_counters().expect_err("no tcx").to_string();
        assert!(text.contains("needs Linux 6.6 or newer, and this is 6.1"), "{text}");
        let unprivileged = Machine { capabilities: BTreeSet::new(), ..able() };
        let text = unprivileged.permits_host_counters().expect_err("no right").to_string();
        assert!(text.contains("CAP_BPF") && text.contains("as root"), "{text}");
    }

    #[test]
    fn a_kernels_version_is_read_with_whatever_follows_it() {
        let read = |text| Release::read(text).map(|release| release.to_string());
        assert_eq!(read("6.18.44-amd64\n").as_deref(), Some("6.18"));
        assert_eq!(read("5.10").as_deref(), Some("5.10"));
        assert_eq!((read(""), read("x.1")), (None, None));
        assert!(Release { major: 6, minor: 4 } < Release { major: 6, minor: 10 });
    }

    #[test]
    fn cap_sys_admin_stands_for_bpf_and_perfmon_but_not_for_net_admin() {
        let set = 1 << Capability::SYS_ADMIN;
        let has: Vec<_> = Capability::ALL.into_iter().filter(|right| right.is_in(set)).collect();
        assert_eq!(has, [Capability::Bpf, Capability::Perfmon]);
    }
}

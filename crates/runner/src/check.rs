//! Cases of conformance on a subject: a scheme, one of noq's own, or a congestion control of this machine's kernel.

use crate::{Drivers, RequestError};
use cellcc_claims::cases::{Case, Finding, Outcomes, Ruling, Subject, check};
use cellcc_control::Registry;
use cellcc_experiment::{DEFAULT_DRIVER, NOQ, Plan, PlanFile, Recordings, Support};
use cellcc_schemes::IN_KERNEL;
use cellcc_units::instead;
use std::fs;

/// The text before the name of one of the kernel's; its driver has the same name.
const KERNEL: &str = Support::KERNEL.driver;

/// A subject and the drivers that check it.
pub struct Check {
    /// The scheme or controller.
    pub subject: Subject,
    /// Names of the drivers that run the cases.
    pub drivers: Vec<String>,
    /// The drivers as one, or the reason why this machine cannot run its kernel's.
    driver: Result<Drivers, String>,
}

impl Check {
    /// Reads a subject: a scheme of `registry`; `noq:NAME`, one of noq's own; or `kernel:NAME`, which its own driver runs. No driver named:
    /// the simulator, or for noq's own QUIC in virtual time. Must be called before the process has a second thread: see
    /// [`Drivers::new`].
    ///
    /// # Errors
    /// A name that nothing has, and a driver that this machine does not allow.
    pub fn new(
        text: &str,
        drivers: &[String],
        registry: &Registry,
        version: &str,
    ) -> Result<Self, RequestError> {
        let of_kernel = text.strip_prefix(KERNEL).and_then(|rest| rest.strip_prefix(':'));
        let is_noq = text.starts_with(NOQ);
        let subject = match of_kernel {
            Some(name) if !name.is_empty() => {
                refuse_unknown_of_kernel(name)?;
                Subject::opaque(name)
            }
            _ if is_noq => Subject::opaque(text),
            _ => Subject::new(&registry.parse(text).map_err(RequestError::new)?),
        };
        let drivers = match drivers {
            _ if of_kernel.is_some() => vec![KERNEL.to_owned()],
            [] if is_noq => vec![Support::QUIC_VIRTUAL.driver.to_owned()],
            [] => vec![DEFAULT_DRIVER.to_owned()],
            named => named.to_vec(),
        };
        let driver = match Drivers::with_registry(registry, &drivers, &Recordings::default()) {
            Err(error) if of_kernel.is_some() => Err(error.to_string()),
            driver => Ok(driver?),
        };
        let check = Self { subject, drivers, driver };
        if is_noq {
            check.refuse_unknown_of_noq(version)?;
        }
        Ok(check)
    }

    /// True where runs take real time.
    pub fn is_real_time(&self) -> bool {
        let in_real_time = [Support::QUIC.driver, KERNEL];
        self.drivers.iter().any(|name| in_real_time.contains(&name.as_str()))
    }

    /// Judges the cases; `run` runs a plan. Where this machine cannot run its kernel's, each case is skipped.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn findings<E>(
        &self,
        cases: &[&Case],
        version: &str,
        mut run: impl FnMut(&Plan, &Drivers) -> Result<Outcomes, E>,
    ) -> Result<Vec<Finding>, E> {
        match &self.driver {
            Ok(driver) => {
                check(cases, &self.subject, &self.drivers, driver, version, |plan| run(&plan, driver))
            }
            Err(why) => Ok(cases.iter().map(|case| case.unjudged(KERNEL, Ruling::Skip, why)).collect()),
        }
    }

    /// The drivers that judged no case: a gate that they leave green says nothing.
    pub fn idle(&self, findings: &[Finding]) -> Vec<String> {
        let judges_none =
            |name: &&String| !findings.iter().any(|one| one.driver == **name && one.ruling != Ruling::Skip);
        self.drivers.iter().filter(judges_none).cloned().collect()
    }

    /// Refuses a controller of noq's that none of the drivers runs: the registry of schemes does not know it.
    fn refuse_unknown_of_noq(&self, version: &str) -> Result<(), RequestError> {
        let Ok(driver) = &self.driver else { return Ok(()) };
        let refusal = |name: &String| {
            let file = PlanFile {
                schemes: vec![self.subject.text().into()],
                traces: vec!["rate=10Mbit/s".into()],
                drivers: vec![name.clone()],
                ..PlanFile::default()
            };
            Plan::new(&file, driver, version).err()
        };
        let refusals = self.drivers.iter().map(refusal).collect::<Option<Vec<_>>>();
        match refusals.and_then(|all| all.into_iter().last()) {
            Some(refusal) => Err(RequestError::new(refusal)),
            None => Ok(()),
        }
    }
}

/// The congestion controls that Linux can be built with (net/ipv4/Kconfig of 6.18). Where one is missing, a module is.
const OF_LINUX: [&str; 17] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Refuses a name that neither Linux, nor this machine's kernel, nor cellcc has: a slip of the keyboard is no missing module, which
/// is skipped.
fn refuse_unknown_of_kernel(text: &str) -> Result<(), RequestError> {
    let name = text.split('(').next().unwrap_or(text);
    let here = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let ours = IN_KERNEL.iter().flat_map(|scheme| [scheme.registry, scheme.name]);
    let known: Vec<&str> =
        OF_LINUX.into_iter().chain(ours).chain(here.split_whitespace()).chain(["newreno"]).collect();
    if known.contains(&name) {
        return Ok(());
    }
    let there = instead(name, "there are", &known.join(", "));
    Err(RequestError::new(format!(
        "kernel:{name}: neither Linux nor cellcc has a congestion control of this name{there}"
    )))
}

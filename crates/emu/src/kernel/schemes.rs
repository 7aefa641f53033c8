//! The kernel's names of schemes.

use std::fs;

/// The congestion controls that the running kernel has.
#[derive(Debug, Clone)]
pub(crate) struct Available(Vec<String>);

impl Available {
    /// Reads them from the kernel.
    pub(crate) fn now() -> Self {
        let names =
            fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
        Self(names.split_whitespace().map(str::to_owned).collect())
    }

    /// The kernel's name of `scheme`.
    ///
    /// # Errors Why the kernel cannot run it, and the schemes that it can.
    pub(crate) fn kernel_name(&self, scheme: &str) -> Result<&str, String> {
        if let Some((name, _)) = scheme.split_once('(') {
            return Err(format!(
                "`{scheme}`: the kernel's `{name}` takes no parameters; write `{name}`, or leave it to the driver `sim`"
            ));
        }
        let name = match scheme {
            "newreno" => "reno".to_owned(),
            other => other.replace('-', "_"),
        };
        self.0.iter().find(|available| **available == name).map(String::as_str).ok_or_else(|| {
            format!(
                "the kernel has no congestion control `{name}`; there are {}. Others of Linux are modules \
                 (`modprobe tcp_bbr`); docs/how-to/kernel.md says what those of cellcc need; leave all others to the \
                 driver `sim`",
                self.0.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_have_the_kernels_names() {
        let available = Available(["reno", "cubic", "cellcc_reminis"].map(String::from).to_vec());
        assert_eq!(available.kernel_name("newreno").unwrap(), "reno");
        assert_eq!(available.kernel_name("cubic").unwrap(), "cubic");
        assert_eq!(available.kernel_name("cellcc_reminis").unwrap(), "cellcc_reminis", "loaded before");
    }

    #[test]
    fn what_the_kernel_does_not_have_is_answered_with_what_it_has() {
        let available = Available(["reno", "cubic"].map(String::from).to_vec());
        let error = available.kernel_name("natcp").unwrap_err();
        assert!(error.contains("`natcp`") && error.contains("reno, cubic"), "{error}");
        assert!(
            error.contains("docs/how-to/kernel.md"),
            "a build without them says where to find ours: {error}"
        );
        let error = available.kernel_name("cubic(fast=on)").unwrap_err();
        assert!(error.contains("takes no parameters"), "{error}");
    }
}

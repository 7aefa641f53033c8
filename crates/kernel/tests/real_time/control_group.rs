//! A control group of a test's own.

use cellcc_kernel::{ControlGroup, KernelError};
use std::fs;
use std::path::{Path, PathBuf};

/// A control group that this process is in while the value lives.
pub(crate) struct Group {
    own: PathBuf,
    before: PathBuf,
}

impl Group {
    pub(crate) fn enter() -> Self {
        let mounts = fs::read_to_string("/proc/mounts").expect("mounts");
        let mount = mounts.lines().find_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let (folder, kind) = (fields.next()?, fields.next()?);
            (kind == "cgroup2").then(|| PathBuf::from(folder))
        });
        let mount = mount.expect("a mount of cgroup2, which every init makes");
        let path = fs::read_to_string("/proc/self/cgroup").expect("our groups");
        let path = path.lines().find_map(|line| line.strip_prefix("0::/")).expect("our group of version 2");
        let group = Self { own: mount.join("cellcc-test"), before: mount.join(path) };
        fs::create_dir_all(&group.own).expect("a group");
        group.move_to(&group.own);
        group
    }

    pub(crate) fn open(&self) -> ControlGroup {
        ControlGroup::open(&self.own).expect("a control group")
    }

    fn move_to(&self, folder: &Path) {
        fs::write(folder.join("cgroup.procs"), std::process::id().to_string()).expect("moved");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.move_to(&self.before);
        let _ = fs::remove_dir(&self.own);
    }
}

#[test]
fn what_is_no_control_group_is_named() {
    for (path, problem) in [("/nowhere", "No such file"), ("/proc", "another file system")] {
        let error = ControlGroup::open(Path::new(path)).expect_err("refused");
        assert!(matches!(error, KernelError::NoControlGroup { .. }) && error.is_input());
        let text = error.to_string();
        assert!(text.starts_with(path) && text.contains(problem) && text.contains("findmnt"), "{text}");
    }
}

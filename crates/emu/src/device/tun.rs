//! A TUN device with a virtio_net_hdr before each packet.

use super::{Kind, LINK_NAME};
use crate::error::EmuError;
use crate::netlink::Netlink;
use crate::sys;
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, read, writev};
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[derive(Debug)]
pub(super) struct TunDevice {
    file: OwnedFd,
}

impl TunDevice {
    /// Makes one in the calling thread's namespace; gives its index too. The kernel removes it when the file is closed.
    pub(super) fn create() -> Result<(Kind, u32), EmuError> {
        let file = open().map_err(EmuError::system("open /dev/net/tun (`--backend veth` does without)"))?;
        let name = sys::tun_attach(file.as_fd(), LINK_NAME).map_err(EmuError::system("make a TUN device"))?;
        sys::tun_offload(file.as_fd()).map_err(EmuError::system("ask a TUN device for super-packets"))?;
        let index = Netlink::open()?.link_named(&name)?.index;
        Ok((Kind::Tun(Self { file }), index))
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(super) fn receive(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        read(&self.file, buffer)
    }

    pub(super) fn send(&self, vnet_header: &[u8], headers: &[u8], payload: &[u8]) -> Result<(), Errno> {
        writev(&self.file, &[vnet_header, headers, payload].map(IoSlice::new)).map(drop)
    }
}

/// The file of which each opening is a device of its own.
pub(crate) fn open() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/net/tun", OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
}

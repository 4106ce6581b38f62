//! What no ioctl does where the process is in a user namespace: a queue length (`linux/rtnetlink.h`).

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use std::io::{Error, Result};
use std::os::fd::AsRawFd;

const REQUEST_AND_ACK: u16 = 0x05;
const NLMSG_ERROR: u16 = 2;
const RTM_SETLINK: u16 = 19;
const IFLA_TXQLEN: u16 = 13;

/// An attribute with its padding.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Sends a message and waits for the kernel's word; what it answered before that.
fn ask(protocol: SockProtocol, kind: u16, body: &[u8]) -> Result<Vec<u8>> {
    let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
    let mut message = Vec::new();
    message.extend((16 + body.len() as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(REQUEST_AND_ACK.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    send(socket.as_raw_fd(), &message, MsgFlags::empty())?;
    let mut answer = Vec::new();
    let mut buffer = [0_u8; 8192];
    loop {
        let count = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        let mut rest = &buffer[..count];
        while let Some(&[a, b, c, d, e, f, ..]) = rest.first_chunk::<16>() {
            let len = (u32::from_ne_bytes([a, b, c, d]) as usize).clamp(16, rest.len());
            if u16::from_ne_bytes([e, f]) == NLMSG_ERROR {
                let error = rest.get(16..20).and_then(|b| b.try_into().ok()).map_or(0, i32::from_ne_bytes);
                return if error == 0 { Ok(answer) } else { Err(Error::from_raw_os_error(-error)) };
            }
            answer.extend(&rest[16..len]);
            rest = &rest[len.next_multiple_of(4).min(rest.len())..];
        }
    }
}

/// Packets that wait at an interface of this namespace.
pub fn set_queue_length(interface: &str, packets: u32) -> Result<()> {
    let index = nix::net::if_::if_nametoindex(interface)?;
    let mut body = vec![0; 16]; // struct ifinfomsg
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body.extend(attribute(IFLA_TXQLEN, &packets.to_ne_bytes()));
    ask(SockProtocol::NetlinkRoute, RTM_SETLINK, &body).map(|_| ())
}

//! The few messages to the kernel that no ioctl has: a queue length, where the process is in a user namespace (`linux/rtnetlink.h`);
//! endpoints and limits of MPTCP (`linux/mptcp_pm.h`).

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use std::io::{Error, ErrorKind, Result};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

const REQUEST_AND_ACK: u16 = 0x05;
const NLMSG_ERROR: u16 = 2;
const RTM_SETLINK: u16 = 19;
const IFLA_TXQLEN: u16 = 13;

const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

const NESTED: u16 = 1 << 15;
const MPTCP_PM_CMD_ADD_ADDR: u8 = 1;
const MPTCP_PM_CMD_SET_LIMITS: u8 = 5;
const MPTCP_PM_ATTR_ADDR: u16 = 1;
const MPTCP_PM_ATTR_RCV_ADD_ADDRS: u16 = 2;
const MPTCP_PM_ATTR_SUBFLOWS: u16 = 3;
const MPTCP_PM_ADDR_ATTR_FAMILY: u16 = 1;
const MPTCP_PM_ADDR_ATTR_ADDR4: u16 = 3;
const MPTCP_PM_ADDR_ATTR_FLAGS: u16 = 6;
const MPTCP_PM_ADDR_ATTR_IF_IDX: u16 = 7;
const MPTCP_PM_ADDR_FLAG_SUBFLOW: u32 = 2;

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

/// The number of a family of generic netlink.
fn family(name: &str) -> Result<u16> {
    let mut body = vec![CTRL_CMD_GETFAMILY, 1, 0, 0];
    body.extend(attribute(CTRL_ATTR_FAMILY_NAME, format!("{name}\0").as_bytes()));
    let answer = ask(SockProtocol::NetlinkGeneric, GENL_ID_CTRL, &body)?;
    let mut rest = answer.get(4..).unwrap_or_default();
    while let Some(&[a, b, c, d]) = rest.first_chunk::<4>() {
        let len = usize::from(u16::from_ne_bytes([a, b])).clamp(4, rest.len());
        if let (CTRL_ATTR_FAMILY_ID, Some(&[low, high])) = (u16::from_ne_bytes([c, d]), rest[4..len].first_chunk::<2>())
        {
            return Ok(u16::from_ne_bytes([low, high]));
        }
        rest = &rest[len.next_multiple_of(4).min(rest.len())..];
    }
    Err(ErrorKind::NotFound.into())
}

/// MPTCP in this namespace may have so many subflows beside the first, and opens one from each of these addresses, at the interface beside
/// it.
pub fn set_paths(subflows: u32, endpoints: &[(Ipv4Addr, String)]) -> Result<()> {
    let mptcp = family("mptcp_pm")?;
    let tell = |command: u8, attributes: Vec<u8>| {
        let mut body = vec![command, 1, 0, 0];
        body.extend(attributes);
        ask(SockProtocol::NetlinkGeneric, mptcp, &body).map(|_| ())
    };
    let limits =
        [MPTCP_PM_ATTR_RCV_ADD_ADDRS, MPTCP_PM_ATTR_SUBFLOWS].map(|kind| attribute(kind, &subflows.to_ne_bytes()));
    tell(MPTCP_PM_CMD_SET_LIMITS, limits.concat())?;
    for (address, interface) in endpoints {
        let index = nix::net::if_::if_nametoindex(interface.as_str())? as i32;
        let attributes = [
            attribute(MPTCP_PM_ADDR_ATTR_FAMILY, &(libc::AF_INET as u16).to_ne_bytes()),
            attribute(MPTCP_PM_ADDR_ATTR_ADDR4, &address.octets()),
            attribute(MPTCP_PM_ADDR_ATTR_FLAGS, &MPTCP_PM_ADDR_FLAG_SUBFLOW.to_ne_bytes()),
            attribute(MPTCP_PM_ADDR_ATTR_IF_IDX, &index.to_ne_bytes()),
        ];
        tell(MPTCP_PM_CMD_ADD_ADDR, attribute(MPTCP_PM_ATTR_ADDR | NESTED, &attributes.concat()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loopback is interface 1 everywhere; the family of the controller itself has a number that is fixed.
    #[test]
    fn the_kernel_answers() {
        assert_eq!(family("nlctrl").ok(), Some(GENL_ID_CTRL));
        assert!(family("no such family").is_err());
        assert_eq!(attribute(3, &[1, 2, 3, 4, 5]), [[9, 0, 3, 0], [1, 2, 3, 4], [5, 0, 0, 0]].concat());
    }
}

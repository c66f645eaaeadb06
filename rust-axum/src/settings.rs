//! What the environment asks for, checked before anything starts.

use std::{
    env,
    net::{SocketAddr, ToSocketAddrs},
};

use crate::variant::Variant;

pub struct Settings {
    host: String,
    port: u16,
    /// What `HOST` resolves to: `localhost` has two addresses on many hosts.
    pub addresses: Vec<SocketAddr>,
    pub variant: Variant,
    pub max_threads: usize,
    pub backlog: u32,
}

impl Settings {
    pub fn from_environment() -> Result<Self, String> {
        let host = text("HOST", "127.0.0.1");
        let port = integer("PORT", 8105, 65_535)? as u16;
        let addresses = (host.as_str(), port)
            .to_socket_addrs()
            .map_err(|_| format!("HOST cannot be resolved: {host:?}"))?
            .collect();

        let name = text("VARIANT", Variant::ALL[0].name());
        let known = Variant::ALL.map(Variant::name);
        let variant = Variant::ALL
            .into_iter()
            .find(|variant| variant.name() == name)
            .ok_or_else(|| format!("VARIANT must be one of {}, got {name:?}", known.join(", ")))?;
        Ok(Self {
            addresses,
            host,
            port,
            variant,
            max_threads: integer("MAX_THREADS", 200, 100_000)? as usize,
            backlog: integer("BACKLOG", 65_535, 65_535)?,
        })
    }

    /// Host and port as in a URL, where an IPv6 address stands in brackets.
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

fn text(name: &str, default: &str) -> String {
    env::var_os(name).map_or_else(
        || default.to_owned(),
        |value| value.to_string_lossy().into_owned(),
    )
}

fn integer(name: &str, default: u32, max: u32) -> Result<u32, String> {
    let value = text(name, &default.to_string());
    // `parse` alone would take "+80".
    Some(&value)
        .filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|value| value.parse().ok())
        .filter(|number| (1..=max).contains(number))
        .ok_or_else(|| format!("{name} must be an integer from 1 to {max}, got {value:?}"))
}

//! What the environment asks for, checked before anything starts; listening and stopping.

use std::net::{SocketAddr, ToSocketAddrs};
use std::{env, io, thread, time::Duration};

use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Clone, Copy, PartialEq)]
pub enum Variant {
    Async,
    Platform,
    Hyper,
}

const VARIANTS: [(&str, Variant); 3] =
    [("async", Variant::Async), ("platform", Variant::Platform), ("hyper", Variant::Hyper)];

/// The longest time that requests in flight get after SIGTERM or SIGINT.
pub const DRAIN: Duration = Duration::from_secs(10);

pub struct Settings {
    pub address: SocketAddr,
    pub name: &'static str,
    pub variant: Variant,
    pub max_threads: usize,
    pub backlog: u32,
    pub processors: usize,
}

impl Settings {
    pub fn from_environment() -> Result<Self, String> {
        let host = text("HOST", "127.0.0.1");
        let port = integer("PORT", 8105, 65_535)?;
        let address = (host.as_str(), port as u16).to_socket_addrs().ok().and_then(|mut found| found.next());
        let asked = text("VARIANT", VARIANTS[0].0);
        let variant = VARIANTS.into_iter().find(|(name, _)| *name == asked);
        let known = VARIANTS.map(|(name, _)| name).join(", ");
        let (name, variant) = variant.ok_or(format!("VARIANT must be one of {known}, got {asked:?}"))?;
        Ok(Self {
            address: address.ok_or(format!("HOST cannot be resolved: {host:?}"))?,
            name,
            variant,
            max_threads: integer("MAX_THREADS", 200, 100_000)? as usize,
            backlog: integer("BACKLOG", 65_535, 65_535)?,
            processors: thread::available_parallelism().map_or(1, usize::from),
        })
    }

    /// Listens; if `shared`, on a port that further listeners may share.
    pub fn listen(&self, shared: bool) -> io::Result<TcpListener> {
        let socket = if self.address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.set_reuseport(shared)?;
        // Accepted connections inherit it.
        socket.set_nodelay(true)?;
        socket.bind(self.address)?;
        // `TcpListener::bind` would ask for a backlog of 1,024.
        socket.listen(self.backlog)
    }
}

/// Completes at the first SIGTERM or SIGINT after this call.
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! { _ = terminate.recv() => (), _ = interrupt.recv() => () }
    })
}

fn text(name: &str, default: &str) -> String {
    env::var_os(name).map_or(default.to_owned(), |value| value.to_string_lossy().into_owned())
}

fn integer(name: &str, default: u32, max: u32) -> Result<u32, String> {
    let value = text(name, &default.to_string());
    let number = value.parse().ok().filter(|number| (1..=max).contains(number));
    number.ok_or(format!("{name} must be an integer from 1 to {max}, got {value:?}"))
}

//! The environment, listening and stopping.

use std::net::{SocketAddr, ToSocketAddrs};
use std::{env, io, process, thread, time::Duration};

use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};

pub struct Settings {
    pub address: SocketAddr,
    pub variant: String,
    pub max_threads: usize,
    pub backlog: u32,
}

impl Settings {
    pub fn from_environment() -> Self {
        let (host, port) = (text("HOST", "127.0.0.1"), integer("PORT", 8105, 65_535) as u16);
        let address = (host.as_str(), port).to_socket_addrs().ok().and_then(|mut found| found.next());
        Self {
            address: address.unwrap_or_else(|| exit(format!("HOST cannot be resolved: {host:?}"))),
            variant: text("VARIANT", "async"),
            max_threads: integer("MAX_THREADS", 200, 100_000) as usize,
            backlog: integer("BACKLOG", 65_535, 65_535),
        }
    }

    /// Tells whether each request has a thread of the pool, which it may block.
    pub fn is_pooled(&self) -> bool {
        self.variant == "platform"
    }

    /// Listens; if `shared`, on a port that further listeners may share.
    pub fn listen(&self, shared: bool) -> io::Result<TcpListener> {
        let socket = if self.address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.set_reuseport(shared)?;
        socket.set_nodelay(true)?; // accepted connections inherit it
        socket.bind(self.address)?;
        socket.listen(self.backlog) // `TcpListener::bind` would ask for 1,024
    }
}

/// Completes at the first SIGTERM or SIGINT after this call. Requests in flight then have 10 s to finish.
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! { _ = terminate.recv() => (), _ = interrupt.recv() => () }
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(10));
            process::exit(0);
        });
    })
}

/// Exits because of a bad setting or a failed start.
pub fn exit(why: String) -> ! {
    eprintln!("{why}");
    process::exit(1);
}

fn text(name: &str, default: &str) -> String {
    env::var_os(name).map_or(default.to_owned(), |value| value.to_string_lossy().into_owned())
}

fn integer(name: &str, default: u32, max: u32) -> u32 {
    let value = text(name, &default.to_string());
    let number = value.parse().ok().filter(|number| (1..=max).contains(number));
    number.unwrap_or_else(|| exit(format!("{name} must be an integer from 1 to {max}, got {value:?}")))
}

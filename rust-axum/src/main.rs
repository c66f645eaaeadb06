//! One HTTP contract, three thread models: `VARIANT=async|platform|hyper cargo run --release`.
//! All that makes them differ is in this file; `with_axum.rs` and `with_hyper.rs` have the routes.

mod settings;
mod with_axum;
mod with_hyper;
mod work;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, process, thread, time::Duration};

use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::{Router, extract::Request, http::StatusCode};
use settings::{Settings, Variant};
use tokio::runtime::{Builder, Handle};
use tokio_util::task::AbortOnDropHandle;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn start(settings: &'static Settings) -> io::Result<()> {
    let app = with_axum::router(settings);
    match settings.variant {
        Variant::Async => on_workers(settings, app, settings.processors),
        Variant::Platform => on_workers(settings, app.layer(from_fn(on_pool)), settings.max_threads),
        Variant::Hyper => on_cores(settings),
    }
}

/// How a request waits: a pool thread blocks, a task is woken by a timer.
pub async fn sleep(variant: Variant, time: Duration) {
    match variant {
        Variant::Platform => thread::sleep(time),
        Variant::Async | Variant::Hyper => tokio::time::sleep(time).await,
    }
}

/// axum as under `#[tokio::main]`: a task for each connection, on one of tokio's workers, one a processor.
fn on_workers(settings: &Settings, app: Router, pool: usize) -> io::Result<()> {
    // tokio starts its workers first: the higher numbers are those of pool threads.
    let started = AtomicUsize::new(0);
    let name = move || format!("tokio-{}", started.fetch_add(1, Ordering::Relaxed));
    let runtime = Builder::new_multi_thread().thread_name_fn(name).max_blocking_threads(pool).enable_all().build()?;
    let served = runtime.block_on(with_axum::serve(settings, app));
    // Pool threads that still block after the drain must not hold the exit.
    runtime.shutdown_background();
    served
}

/// Carries a request over to the pool: it holds one of the `MAX_THREADS` threads until it is answered,
/// and waits in the pool's queue while there is none.
async fn on_pool(request: Request, next: Next) -> Response {
    let handle = Handle::current();
    let answer = tokio::task::spawn_blocking(move || handle.block_on(next.run(request)));
    // A request whose client is gone before its turn takes no thread.
    let answer = AbortOnDropHandle::new(answer).await;
    answer.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

/// hyper alone: a thread for each processor, with a runtime and a listener of its own. The kernel deals out the
/// connections among the listeners, and each stays on its thread.
fn on_cores(settings: &'static Settings) -> io::Result<()> {
    // Listeners that share a port would share it with another process, too.
    drop(std::net::TcpListener::bind(settings.address)?);
    let start = |core| {
        let runtime = Builder::new_current_thread().max_blocking_threads(1).enable_all().build()?;
        let server = runtime.block_on(async { with_hyper::server(settings) })?;
        thread::Builder::new().name(format!("core-{core}")).spawn(move || {
            runtime.block_on(server);
            runtime.shutdown_background();
        })
    };
    let cores = (0..settings.processors).map(start).collect::<io::Result<Vec<_>>>()?;
    println!("listening on http://{} (rust-axum:{})", settings.address, settings.name);
    cores.into_iter().try_for_each(|core| core.join()).expect("the accept loop does not panic");
    Ok(())
}

/// Long hashing must not keep a task's thread from its other connections; up to 0.1 ms costs less than a hand-over.
pub async fn digest(variant: Variant, rounds: u32) -> String {
    if variant == Variant::Platform || rounds <= 1_000 {
        return work::digest(rounds);
    }
    tokio::task::spawn_blocking(move || work::digest(rounds)).await.expect("hashing does not panic")
}

fn main() {
    let settings = Settings::from_environment().unwrap_or_else(|complaint| {
        eprintln!("{complaint}");
        process::exit(2)
    });
    let settings: &'static Settings = Box::leak(Box::new(settings));
    // The soft limit is 1,024 connections in most places; `/info` shows what is in force.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    if let Err(error) = start(settings) {
        let in_use = error.kind() == io::ErrorKind::AddrInUse;
        let reason = if in_use { "address already in use".to_owned() } else { error.to_string() };
        eprintln!("cannot listen on {}: {reason}", settings.address);
        process::exit(1);
    }
}

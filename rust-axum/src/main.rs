//! One HTTP contract, three thread models: `VARIANT=async|platform|hyper cargo run --release`.
//! The two on axum are in this file, `hyper` is in `with_hyper.rs`, and the responses of all are in `work.rs`.

mod settings;
mod with_hyper;
mod work;

use std::{io, thread, time::Duration};

use axum::extract::{Query, Request, State};
use axum::middleware::{Next, from_fn};
use axum::{Router, body::Body, http::StatusCode, response::Response, routing::get};
use futures_util::future::{Either, ready};
use settings::{Settings, stop_signal};
use tokio::{runtime::Builder, runtime::Handle, task::spawn_blocking};
use tokio_util::task::AbortOnDropHandle;
use tower::{Service, make::Shared, service_fn};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let _ = rlimit::increase_nofile_limit(u64::MAX); // most systems start with a soft limit of 1,024
    let settings: &'static Settings = Box::leak(Box::new(Settings::from_environment()));
    let app = Router::new()
        .route("/", get(async || work::hello()))
        .route("/sleep", get(async |State(settings), Query(query)| work::sleep(settings, query).await))
        .route("/bytes", get(async |Query(query)| work::bytes(&query)))
        .route("/cpu", get(async |State(settings), Query(query)| work::cpu(settings, query).await))
        .route("/info", get(async |State(settings)| work::info(settings)))
        .with_state(settings);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let served = match settings.variant.as_str() {
        "async" => on_workers(settings, app, processors),
        "platform" => on_workers(settings, app.layer(from_fn(on_pool)), settings.max_threads),
        "hyper" => with_hyper::on_cores(settings, processors),
        other => settings::exit(format!("VARIANT must be async, platform or hyper, got {other:?}")),
    };
    served.unwrap_or_else(|error| settings::exit(format!("cannot listen on {}: {error}", settings.address)));
}

/// Waits the way of the thread model: a thread of the pool blocks, a task is woken by a timer.
async fn sleep(settings: &Settings, time: Duration) {
    match settings.is_pooled() {
        true => thread::sleep(time),
        false if time.is_zero() => (),
        false => tokio::time::sleep(time).await,
    }
}

/// Hashes; a task moves more than about 0.1 ms of work to another thread, because its own serves other connections.
async fn digest(settings: &Settings, rounds: u64) -> String {
    match settings.is_pooled() || rounds <= 1_000 {
        true => work::digest(rounds),
        false => spawn_blocking(move || work::digest(rounds)).await.expect("hashing does not panic"),
    }
}

/// Moves a request to the pool: it waits in the pool's queue, and then occupies a thread until its response is complete.
async fn on_pool(request: Request, next: Next) -> Result<Response, StatusCode> {
    let response = spawn_blocking(|| Handle::current().block_on(next.run(request)));
    // A queued request takes no thread if its client has left.
    AbortOnDropHandle::new(response).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

/// Serves like `#[tokio::main]`: each connection is a task on one of tokio's workers, of which each processor has one.
fn on_workers(settings: &Settings, mut app: Router, pool: usize) -> io::Result<()> {
    let checked = service_fn(move |request: Request| match work::begin(request.headers()) {
        true => Either::Left(ready(Ok(work::ambiguous().map(Body::new)))),
        false => Either::Right(app.call(request)),
    });
    let runtime = Builder::new_multi_thread().max_blocking_threads(pool).enable_all().build()?;
    let served = runtime.block_on(async {
        let (listener, stop) = (settings.listen(false)?, stop_signal()?);
        println!("listening on http://{} (rust-axum:{})", settings.address, settings.variant);
        axum::serve(listener, Shared::new(checked)).with_graceful_shutdown(stop).await
    });
    runtime.shutdown_background(); // threads of the pool that still block must not delay the exit
    served
}

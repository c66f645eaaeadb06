//! One HTTP contract, three thread models: `VARIANT=async|platform|hyper cargo run --release`.

mod app;
mod bare;
mod serve;
mod settings;
mod variant;
mod work;

use std::process::ExitCode;

use axum::middleware::from_fn;
use hyper_util::service::TowerToHyperService;
use serve::serve;
use settings::Settings;
use tokio::net::TcpListener;
use variant::Variant;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let settings: &'static Settings = match Settings::from_environment() {
        Ok(settings) => Box::leak(Box::new(settings)),
        Err(complaint) => {
            eprintln!("{complaint}");
            return ExitCode::from(2);
        }
    };
    // The soft limit is 1,024 connections in most places; `/info` shows what is in force.
    let _ = rlimit::increase_nofile_limit(u64::MAX);

    let runtime = settings.variant.runtime(settings);
    let listener = match runtime.block_on(async { serve::listen(settings) }) {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("cannot listen on {}: {error}", settings.authority());
            return ExitCode::FAILURE;
        }
    };
    // On a worker: what the main thread spawns takes the detour of the workers' shared queue.
    let server = runtime.spawn(run(listener, settings));
    runtime
        .block_on(server)
        .expect("the accept loop does not panic");
    // Pool threads that still block after the drain must not hold the exit.
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

async fn run(listener: TcpListener, settings: &'static Settings) {
    let stop = serve::stop_signal();
    println!(
        "listening on http://{} (rust-axum:{})",
        settings.authority(),
        settings.variant.name()
    );
    let app = app::router(settings);
    match settings.variant {
        Variant::Async => serve(listener, TowerToHyperService::new(app), stop).await,
        Variant::Platform => {
            let app = app.layer(from_fn(app::on_pool));
            serve(listener, TowerToHyperService::new(app), stop).await;
        }
        Variant::Hyper => serve(listener, bare::service(settings), stop).await,
    }
}

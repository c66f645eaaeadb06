//! The axum application of `async` and `platform`.

use std::{io, sync::atomic::Ordering};

use axum::extract::{Query, Request, State};
use axum::{Router, body::Body, routing::get};
use futures_util::future::{Either, ready};
use tokio::time;
use tower::{Service, make::Shared, service_fn};

use crate::settings::{DRAIN, Settings, stop_signal};
use crate::work::{self, Answer, Parameters, REQUESTS};

pub fn router(settings: &'static Settings) -> Router {
    Router::new()
        .route("/", get(async || work::hello()))
        .route("/sleep", get(sleep))
        .route("/bytes", get(bytes))
        .route("/cpu", get(cpu))
        .route("/info", get(async |State(settings)| work::info(settings)))
        .with_state(settings)
}

async fn sleep(State(settings): State<&'static Settings>, Query(asked): Query<Parameters>) -> Answer {
    work::sleep(settings, asked).await
}

async fn bytes(Query(asked): Query<Parameters>) -> Answer {
    work::bytes(asked)
}

async fn cpu(State(settings): State<&'static Settings>, Query(asked): Query<Parameters>) -> Answer {
    work::cpu(settings, asked).await
}

/// Serves until SIGTERM or SIGINT, and then what is in flight.
pub async fn serve(settings: &Settings, app: Router) -> io::Result<()> {
    let listener = settings.listen(false)?;
    let mut app = app;
    let counted = service_fn(move |request: Request| {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        if work::is_ambiguous(request.headers()) {
            return Either::Left(ready(Ok(work::ambiguous().map(Body::new))));
        }
        Either::Right(app.call(request))
    });
    let (stop, drain) = (stop_signal()?, stop_signal()?);
    let server = axum::serve(listener, Shared::new(counted)).with_graceful_shutdown(stop);
    println!("listening on http://{} (rust-axum:{})", settings.address, settings.name);
    tokio::select! {
        served = server.into_future() => served,
        () = async { drain.await; time::sleep(DRAIN).await } => Ok(()),
    }
}

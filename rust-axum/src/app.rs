//! The axum application of `async` and `platform`.

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, Uri},
    middleware::Next,
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::{runtime::Handle, task};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    settings::Settings,
    work::{self, BadParameter},
};

pub fn router(settings: &'static Settings) -> Router {
    Router::new()
        .route("/", get(async || work::hello()))
        .route(
            "/sleep",
            get(|State(s), uri: Uri| work::sleep(s, uri.query())),
        )
        .route("/bytes", get(async |uri: Uri| work::bytes(uri.query())))
        .route("/cpu", get(|State(s), uri: Uri| work::cpu(s, uri.query())))
        .route("/info", get(async |State(s)| work::info(s)))
        .method_not_allowed_fallback(async || work::method_not_allowed())
        .fallback(async || work::not_found())
        .with_state(settings)
}

/// Carries a request over to the pool: it holds one of the `MAX_THREADS` threads until it is answered,
/// and waits in the pool's queue while there is none.
pub async fn on_pool(request: Request, next: Next) -> Response {
    let handle = Handle::current();
    let answer = task::spawn_blocking(move || handle.block_on(next.run(request)));
    // A request whose client is gone before its turn takes no thread.
    AbortOnDropHandle::new(answer)
        .await
        .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

impl IntoResponse for BadParameter {
    fn into_response(self) -> Response {
        work::Answer::from(self).into_response()
    }
}

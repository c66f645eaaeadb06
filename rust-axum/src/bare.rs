//! The same routes on hyper alone.

use std::convert::Infallible;

use hyper::{
    Method, Uri,
    body::Body,
    header::CONTENT_LENGTH,
    service::{Service, service_fn},
};

use crate::{
    serve::Bodiless,
    settings::Settings,
    work::{self, Answer},
};

pub fn service(
    settings: &'static Settings,
) -> impl Service<Bodiless, Response = Answer, Error = Infallible, Future: Send> + Clone {
    service_fn(move |request: Bodiless| {
        // All that is needed: the headers are freed before a wait, not after it.
        let (method, uri) = (request.method().clone(), request.uri().clone());
        async move { Ok(answer(settings, method, uri).await) }
    })
}

async fn answer(settings: &Settings, method: Method, uri: Uri) -> Answer {
    let query = uri.query();
    let head = method == Method::HEAD;
    let mut answer = match uri.path() {
        "/" | "/sleep" | "/bytes" | "/cpu" | "/info" if !head && method != Method::GET => {
            work::method_not_allowed()
        }
        "/" => work::hello(),
        "/sleep" => work::sleep(settings, query)
            .await
            .unwrap_or_else(Answer::from),
        "/bytes" => work::bytes(query).unwrap_or_else(Answer::from),
        "/cpu" => work::cpu(settings, query)
            .await
            .unwrap_or_else(Answer::from),
        "/info" => work::info(settings),
        _ => work::not_found(),
    };
    if head && let Some(length) = answer.body().size_hint().exact() {
        // hyper names the length of a body that it leaves out, unless that is 0.
        answer.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    answer
}

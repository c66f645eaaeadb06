//! The same routes on hyper alone.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    pin::Pin,
};

use hyper::{
    Method, Uri,
    body::Body,
    header::CONTENT_LENGTH,
    service::{Service, service_fn},
};
use tokio_util::either::Either;

use crate::{
    serve::Bodiless,
    settings::Settings,
    work::{self, Answer, BadParameter},
};

type Outcome = Result<Answer, BadParameter>;
type Waiting = Pin<Box<dyn Future<Output = Outcome> + Send>>;

pub fn service(
    settings: &'static Settings,
) -> impl Service<Bodiless, Response = Answer, Error = Infallible, Future: Send> + Clone {
    service_fn(move |request: Bodiless| {
        let head = request.method() == Method::HEAD;
        // The request ends with this call, before hyper reads on: it then has its buffer back and makes no second one.
        let outcome = outcome(settings, request.method(), request.uri());
        async move {
            let mut answer = outcome.await.unwrap_or_else(Answer::from);
            if head && let Some(length) = answer.body().size_hint().exact() {
                // hyper names the length of a body that it leaves out, unless that is 0.
                answer.headers_mut().insert(CONTENT_LENGTH, length.into());
            }
            Ok(answer)
        }
    })
}

fn outcome(
    settings: &'static Settings,
    method: &Method,
    uri: &Uri,
) -> Either<Ready<Outcome>, Waiting> {
    let query = uri.query();
    let known = matches!(method, &Method::GET | &Method::HEAD);
    Either::Left(ready(match uri.path() {
        "/" | "/sleep" | "/bytes" | "/cpu" | "/info" if !known => Ok(work::method_not_allowed()),
        "/" => Ok(work::hello()),
        "/sleep" => return Either::Right(Box::pin(work::sleep(settings, query))),
        "/bytes" => work::bytes(query),
        "/cpu" => return Either::Right(Box::pin(work::cpu(settings, query))),
        "/info" => Ok(work::info(settings)),
        _ => Ok(work::not_found()),
    }))
}

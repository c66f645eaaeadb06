//! The same on hyper alone, for `hyper`.

use std::{convert::Infallible, io, pin::pin, sync::atomic::Ordering, time::Duration};

use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Request, StatusCode, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{rt::TokioIo, server::graceful::GracefulShutdown};
use tokio::time;

use crate::settings::{DRAIN, Settings, stop_signal};
use crate::work::{self, Answer, Parameters, REQUESTS, TEXT};

/// Listens at the call; what it returns serves until SIGTERM or SIGINT, and then what is in flight.
pub fn server(settings: &'static Settings) -> io::Result<impl Future + Send> {
    let (listener, stop) = (settings.listen(true)?, stop_signal()?);
    Ok(async move {
        let connections = GracefulShutdown::new();
        let mut stop = pin!(stop);
        loop {
            let accepted = tokio::select! { accepted = listener.accept() => accepted, () = &mut stop => break };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    if is_exhaustion(&error) {
                        time::sleep(Duration::from_millis(100)).await;
                    }
                    continue;
                }
            };
            let service = service_fn(move |request| {
                REQUESTS.fetch_add(1, Ordering::Relaxed);
                // The request ends with this call, before hyper reads on: it needs no second buffer then.
                finish(settings, route(settings, &request))
            });
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::spawn(connections.watch(connection));
        }
        drop(listener);
        time::timeout(DRAIN, connections.shutdown()).await
    })
}

/// Tells whether a resource is exhausted, which lasts a while. Any other error is that of one connection, which has
/// left the queue with it.
fn is_exhaustion(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

enum Task {
    Answered(Answer),
    Sleep(Parameters),
    Cpu(Parameters),
}

fn route(settings: &Settings, request: &Request<Incoming>) -> Task {
    if work::is_ambiguous(request.headers()) {
        return Task::Answered(work::ambiguous());
    }
    let known = matches!(request.method(), &Method::GET | &Method::HEAD);
    Task::Answered(match request.uri().path() {
        "/" | "/sleep" | "/bytes" | "/cpu" | "/info" if !known => {
            let mut answer = work::answer(StatusCode::METHOD_NOT_ALLOWED, TEXT, "");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET,HEAD"));
            answer
        }
        "/" => work::hello(),
        "/sleep" => return asked(request, Task::Sleep),
        "/bytes" => return asked(request, |asked| Task::Answered(work::bytes(asked))),
        "/cpu" => return asked(request, Task::Cpu),
        "/info" => work::info(settings),
        _ => work::answer(StatusCode::NOT_FOUND, TEXT, ""),
    })
}

/// Reads the query as axum's `Query` does.
fn asked(request: &Request<Incoming>, task: impl FnOnce(Parameters) -> Task) -> Task {
    let query = request.uri().query().unwrap_or_default();
    let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
    let refuse = |error: serde_path_to_error::Error<_>| Task::Answered(work::bad(error.to_string()));
    serde_path_to_error::deserialize(pairs).map_or_else(refuse, task)
}

async fn finish(settings: &Settings, task: Task) -> Result<Answer, Infallible> {
    Ok(match task {
        Task::Answered(answer) => answer,
        Task::Sleep(asked) => work::sleep(settings, asked).await,
        Task::Cpu(asked) => work::cpu(settings, asked).await,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepting_pauses_only_while_a_resource_is_exhausted() {
        for code in [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM] {
            assert!(is_exhaustion(&io::Error::from_raw_os_error(code)), "{code}");
        }
        for code in [libc::ECONNABORTED, libc::ECONNRESET, libc::EPROTO, libc::EINTR, libc::ENETDOWN] {
            assert!(!is_exhaustion(&io::Error::from_raw_os_error(code)), "{code}");
        }
    }
}

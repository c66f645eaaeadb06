//! Listening, accepting and stopping, the same for every variant.
//!
//! `axum::serve` would do for a start, but it fixes the limits that are set here.

use std::{
    convert::Infallible,
    error::Error,
    io::{self, ErrorKind},
    sync::atomic::Ordering,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{
    Request, Response,
    body::{Body, Incoming},
    header::{CONNECTION, HeaderValue},
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{rt::TokioIo, server::graceful::GracefulShutdown};
use tokio::{
    net::{TcpListener, TcpSocket},
    signal::unix::{SignalKind, signal},
    time,
};
use tokio_util::either::Either;

use crate::{settings::Settings, work};

/// The longest time that requests in flight get after SIGTERM or SIGINT.
const DRAIN: Duration = Duration::from_secs(10);

/// More than this of a body is not read; the connection is closed instead.
const MAX_BODY: usize = 1 << 20;

pub type Bodiless = Request<Empty<Bytes>>;

/// Listens on the first of the addresses that can be had.
pub fn listen(settings: &Settings) -> Result<TcpListener, String> {
    let mut outcome = Err(ErrorKind::AddrNotAvailable.into());
    for &address in &settings.addresses {
        outcome = (|| {
            let socket = match address.is_ipv4() {
                true => TcpSocket::new_v4(),
                false => TcpSocket::new_v6(),
            }?;
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            // `TcpListener::bind` would ask for a backlog of 1,024.
            socket.listen(settings.backlog)
        })();
        if outcome.is_ok() {
            break;
        }
    }
    outcome.map_err(|error: io::Error| match error.kind() {
        ErrorKind::AddrInUse => "address already in use".to_owned(),
        _ => error.to_string(),
    })
}

/// Completes at the first SIGTERM or SIGINT after this call.
pub fn stop_signal() -> impl Future<Output = ()> {
    let mut terminate = signal(SignalKind::terminate()).expect("a signal handler");
    let mut interrupt = signal(SignalKind::interrupt()).expect("a signal handler");
    async move {
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
        }
    }
}

pub async fn serve<S, B>(listener: TcpListener, service: S, stop: impl Future<Output = ()>)
where
    S: Service<Bodiless, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.max_header_size(8 << 10).max_buf_size(64 << 10);
    let connections = GracefulShutdown::new();

    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    pause_after(&error).await;
                    continue;
                }
            }
        };
        // Fails only when the client is gone already, which the connection will notice.
        let _ = stream.set_nodelay(true);
        let service = service.clone();
        let bodiless = service_fn(move |request| without_body(&service, request));
        let connection = http.serve_connection(TokioIo::new(stream), bodiless);
        tokio::spawn(connections.watch(connection));
    }
    drop(listener);
    let _ = time::timeout(DRAIN, connections.shutdown()).await;
}

/// A client that left before it was accepted is no matter;
/// anything else, such as no descriptor left, lasts a while, and the loop must not spin on it.
async fn pause_after(error: &io::Error) {
    let client_left = matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
    );
    if !client_left {
        time::sleep(Duration::from_millis(100)).await;
    }
}

/// Counts a request and passes it on without its body, for which no path has a use. A body that was sent
/// is read first: hyper would close the connection on the rest, maybe before the client has the answer.
fn without_body<B, S: Service<Bodiless, Response = Response<B>> + Clone>(
    service: &S,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<B>, S::Error>> + use<B, S> {
    work::REQUESTS.fetch_add(1, Ordering::Relaxed);
    let (head, body) = request.into_parts();
    let head = Request::from_parts(head, Empty::new());
    if body.is_end_stream() {
        return Either::Left(service.call(head));
    }
    let service = service.clone();
    let mut body = Limited::new(body, MAX_BODY);
    Either::Right(Box::pin(async move {
        let mut frame = body.frame().await;
        while let Some(Ok(_)) = frame {
            frame = body.frame().await;
        }
        let mut answer = service.call(head).await?;
        if frame.is_some() {
            // Too long or broken: hyper will close the connection, but not say so.
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(CONNECTION, close);
        }
        Ok(answer)
    }))
}

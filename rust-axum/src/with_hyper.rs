//! The variant `hyper`: the same routes without axum.

use std::{io, net, pin::pin, thread, time::Duration};

use hyper::{Method, Request, StatusCode, body::Incoming, header::ALLOW, server::conn::http1, service::service_fn};
use hyper_util::{rt::TokioIo, rt::TokioTimer, server::graceful::GracefulShutdown};
use tokio::{runtime::Builder, time};

use crate::settings::{Settings, stop_signal};
use crate::work::{self, Answer};

/// Gives each processor a thread with its own runtime and listener, among which the kernel distributes connections.
pub fn on_cores(settings: &'static Settings, processors: usize) -> io::Result<()> {
    // Listeners that share a port would share it with another process, too; this one fails if the port is taken.
    drop(net::TcpListener::bind(settings.address)?);
    let start = |core| {
        let runtime = Builder::new_current_thread().max_blocking_threads(1).enable_all().build()?;
        let server = runtime.block_on(async { server(settings) })?;
        thread::Builder::new().name(format!("core-{core}")).spawn(move || runtime.block_on(server))
    };
    let cores = (0..processors).map(start).collect::<io::Result<Vec<_>>>()?;
    println!("listening on http://{} (rust-axum:{})", settings.address, settings.variant);
    cores.into_iter().for_each(|core| core.join().expect("the accept loop does not panic"));
    Ok(())
}

/// Listens at the call; the future serves until SIGTERM or SIGINT, and then finishes the requests in flight.
fn server(settings: &'static Settings) -> io::Result<impl Future<Output = ()> + Send> {
    let (listener, stop) = (settings.listen(true)?, stop_signal()?);
    let mut http = http1::Builder::new();
    // Each response is written from one buffer, which `pipeline_flush` would not bound. Idle connections end after 120 s.
    http.writev(false).timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(120));
    Ok(async move {
        let (connections, mut stop) = (GracefulShutdown::new(), pin!(stop));
        loop {
            let accepted = tokio::select! { accepted = listener.accept() => accepted, () = &mut stop => break };
            let Ok((stream, _)) = accepted else {
                time::sleep(Duration::from_millis(100)).await; // most often, no descriptor is left
                continue;
            };
            let service = service_fn(move |request| respond(settings, request));
            tokio::spawn(connections.watch(http.serve_connection(TokioIo::new(stream), service)));
        }
        drop(listener);
        connections.shutdown().await;
    })
}

/// Takes from the request what the response needs, and drops it: hyper reads on before it polls the future, and would
/// need a second buffer if the request still held the first.
fn respond(settings: &'static Settings, request: Request<Incoming>) -> impl Future<Output = io::Result<Answer>> {
    let ambiguous = work::begin(request.headers());
    let readable = matches!(*request.method(), Method::GET | Method::HEAD);
    let path = ["/", "/sleep", "/bytes", "/cpu", "/info"].into_iter().find(|path| *path == request.uri().path());
    let query = form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes()).into_owned().collect();
    async move {
        let answer = match path {
            _ if ambiguous => Ok(work::ambiguous()),
            None => Ok(work::answer(StatusCode::NOT_FOUND, &[], "")),
            _ if !readable => Ok(work::answer(StatusCode::METHOD_NOT_ALLOWED, &[(ALLOW, "GET,HEAD")], "")),
            Some("/sleep") => work::sleep(settings, query).await,
            Some("/bytes") => work::bytes(&query),
            Some("/cpu") => work::cpu(settings, query).await,
            Some("/info") => Ok(work::info(settings)),
            _ => Ok(work::hello()),
        };
        Ok(answer.unwrap_or_else(|(status, why)| work::answer(status, &[work::TEXT], why)))
    }
}

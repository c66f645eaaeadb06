//! What is asked for and answered, the same in every variant.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{convert::Infallible, fs, process, thread, time::Duration, vec};

use bytes::Bytes;
use futures_util::stream::{self, Iter};
use http_body_util::{Either, Full, StreamBody};
use hyper::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::{Response, StatusCode, body::Frame};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::settings::{Settings, Variant};

pub const TEXT: HeaderValue = HeaderValue::from_static("text/plain;charset=utf-8");

/// Requests taken so far, on all paths.
pub static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// A whole number of alphabets, so that every chunk of `/bytes` starts at `a`.
static CHUNK: LazyLock<Vec<u8>> = LazyLock::new(|| b"abcdefghijklmnopqrstuvwxyz".repeat(2_520));

type Chunks = StreamBody<Iter<vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;
pub type Answer = Response<Either<Full<Bytes>, Chunks>>;

/// What a query may hold. Each path looks at what it knows.
#[derive(Deserialize)]
pub struct Parameters {
    #[serde(default, deserialize_with = "up_to::<60_000, _>")]
    ms: Option<u32>,
    #[serde(default, deserialize_with = "up_to::<16_777_216, _>")]
    n: Option<u32>,
    #[serde(default, deserialize_with = "up_to::<10_000_000, _>")]
    rounds: Option<u32>,
}

fn up_to<'de, const MAX: u32, D: Deserializer<'de>>(value: D) -> Result<Option<u32>, D::Error> {
    match u32::deserialize(value) {
        Ok(number) if number <= MAX => Ok(Some(number)),
        _ => Err(D::Error::custom(format_args!("must be an integer from 0 to {MAX}"))),
    }
}

pub fn hello() -> Answer {
    answer(StatusCode::OK, TEXT, "Hello, World!")
}

pub async fn sleep(settings: &Settings, asked: Parameters) -> Answer {
    crate::sleep(settings.variant, Duration::from_millis(asked.ms.unwrap_or(10_000).into())).await;
    hello()
}

pub async fn cpu(settings: &Settings, asked: Parameters) -> Answer {
    let Some(rounds) = asked.rounds else { return bad("rounds must be an integer from 0 to 10000000") };
    if let Some(ms @ 1..) = asked.ms {
        crate::sleep(settings.variant, Duration::from_millis(ms.into())).await;
    }
    answer(StatusCode::OK, TEXT, crate::digest(settings.variant, rounds).await)
}

pub fn bytes(asked: Parameters) -> Answer {
    let Some(n) = asked.n else { return bad("n must be an integer from 0 to 16777216") };
    let chunk = |left: usize| Ok(Frame::data(Bytes::from_static(&CHUNK[..CHUNK.len().min(left)])));
    let chunks: Vec<_> = (0..n as usize).step_by(CHUNK.len()).map(|at| chunk(n as usize - at)).collect();
    let mut answer = answer(StatusCode::OK, HeaderValue::from_static("application/octet-stream"), "");
    answer.headers_mut().insert(CONTENT_LENGTH, n.into());
    *answer.body_mut() = Either::Right(StreamBody::new(stream::iter(chunks)));
    answer
}

pub fn info(settings: &Settings) -> Answer {
    let (pooled, bare) = (settings.variant == Variant::Platform, settings.variant == Variant::Hyper);
    let (framework, version) = if bare { ("hyper", env!("HYPER_VERSION")) } else { ("axum", env!("AXUM_VERSION")) };
    let nofile = rlimit::getrlimit(rlimit::Resource::NOFILE).ok().map(|(soft, _)| soft);
    let max_threads = pooled.then_some(settings.max_threads);
    let info = json!({
        "server": env!("CARGO_PKG_NAME"), "variant": settings.name,
        "model": if pooled { "platform-thread" } else { "async-task" },
        "framework": framework, "framework_version": version, "runtime": "rustc", "runtime_version": env!("RUSTC_VERSION"),
        "transport": if cfg!(target_os = "linux") { "epoll" } else { "kqueue" },
        "pid": process::id(), "processors": settings.processors, "thread": thread::current().name(), "virtual": false,
        "os_threads": fs::read_dir("/proc/self/task").map_or(0, Iterator::count),
        "heap_used": null, "heap_committed": null, "heap_max": null, "gc": [], "gc_count": 0, "gc_time_ms": 0,
        "requests": REQUESTS.load(Ordering::Relaxed),
        "limits": { "max_threads": max_threads, "max_connections": null, "backlog": settings.backlog, "nofile": nofile },
    });
    answer(StatusCode::OK, HeaderValue::from_static("application/json"), info.to_string())
}

pub fn answer(status: StatusCode, kind: HeaderValue, body: impl Into<Bytes>) -> Answer {
    let mut answer = Answer::new(Either::Left(Full::new(body.into())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

pub fn bad(why: impl Into<Bytes>) -> Answer {
    answer(StatusCode::BAD_REQUEST, TEXT, why)
}

/// Tells whether a body has another `Transfer-Encoding` than one `chunked`. hyper looks at the last coding only; where
/// there is a `Content-Length` with it, hyper itself closes the connection.
pub fn is_ambiguous(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    codings.next().is_some_and(|first| !first.as_bytes().eq_ignore_ascii_case(b"chunked") || codings.next().is_some())
}

/// Refuses an ambiguous request and closes its connection.
pub fn ambiguous() -> Answer {
    let mut answer = bad("ambiguous Transfer-Encoding");
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// SHA-256 `rounds` times over, from 32 zero bytes, in hexadecimal.
pub fn digest(rounds: u32) -> String {
    let digest = (0..rounds).fold([0; 32].into(), |digest, _| Sha256::digest(digest));
    format!("{:x}", Bytes::copy_from_slice(&digest))
}

//! The responses, which are the same in every variant.

use std::sync::{LazyLock, atomic::AtomicU64, atomic::Ordering};
use std::{collections::HashMap, convert::Infallible, process, thread, time::Duration, vec};

use futures_util::stream::{self, Iter};
use http_body_util::{Either, Full, StreamBody};
use hyper::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::{Response, StatusCode, body::Bytes, body::Frame};
use sha2::{Digest, Sha256};

use crate::settings::Settings;

pub const TEXT: (HeaderName, &str) = (CONTENT_TYPE, "text/plain;charset=utf-8");

static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// A whole number of alphabets, so that every chunk of `/bytes` starts with `a`.
static CHUNK: LazyLock<Vec<u8>> = LazyLock::new(|| b"abcdefghijklmnopqrstuvwxyz".repeat(2_520));

pub type Answer = Response<Either<Full<Bytes>, StreamBody<Iter<vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>>>;
pub type Query = HashMap<String, String>;

/// Counts a request, and tells whether it has a `Transfer-Encoding` other than a single `chunked`: hyper looks only at
/// the last coding. If there is a `Content-Length` as well, hyper itself closes the connection.
pub fn begin(headers: &HeaderMap) -> bool {
    REQUESTS.fetch_add(1, Ordering::Relaxed);
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    codings.next().is_some_and(|first| !first.as_bytes().eq_ignore_ascii_case(b"chunked") || codings.next().is_some())
}

pub fn ambiguous() -> Answer {
    answer(StatusCode::BAD_REQUEST, &[TEXT, (CONNECTION, "close")], "ambiguous Transfer-Encoding")
}

pub fn hello() -> Answer {
    answer(StatusCode::OK, &[TEXT], "Hello, World!")
}

pub async fn sleep(settings: &Settings, query: Query) -> Result<Answer, (StatusCode, String)> {
    let ms = number(&query, "ms", 60_000, Some(10_000))?;
    drop(query); // a waiting request occupies no more memory than it needs
    crate::sleep(settings, Duration::from_millis(ms)).await;
    Ok(hello())
}

pub async fn cpu(settings: &Settings, query: Query) -> Result<Answer, (StatusCode, String)> {
    let (rounds, ms) = (number(&query, "rounds", 10_000_000, None)?, number(&query, "ms", 60_000, Some(0))?);
    crate::sleep(settings, Duration::from_millis(ms)).await;
    Ok(answer(StatusCode::OK, &[TEXT], crate::digest(settings, rounds).await))
}

/// SHA-256 applied `rounds` times to 32 zero bytes, in hexadecimal.
pub fn digest(rounds: u64) -> String {
    let digest = (0..rounds).fold([0; 32].into(), |digest, _| Sha256::digest(digest));
    format!("{:x}", Bytes::copy_from_slice(&digest))
}

pub fn bytes(query: &Query) -> Result<Answer, (StatusCode, String)> {
    let n = number(query, "n", 16_777_216, None)? as usize;
    let chunk = |at| Ok(Frame::data(Bytes::from_static(&CHUNK[..CHUNK.len().min(n - at)])));
    let chunks = (0..n).step_by(CHUNK.len()).map(chunk).collect::<Vec<_>>();
    let mut answer = answer(StatusCode::OK, &[(CONTENT_TYPE, "application/octet-stream")], "");
    answer.headers_mut().insert(CONTENT_LENGTH, n.into());
    Ok(answer.map(|_| Either::Right(StreamBody::new(stream::iter(chunks)))))
}

pub fn info(settings: &Settings) -> Answer {
    let (pooled, bare) = (settings.is_pooled(), settings.variant == "hyper");
    let (framework, version) = if bare { ("hyper", env!("HYPER_VERSION")) } else { ("axum", env!("AXUM_VERSION")) };
    let info = serde_json::json!({
        "server": "rust-axum", "variant": settings.variant, "model": if pooled { "platform-thread" } else { "async-task" },
        "framework": framework, "framework_version": version, "runtime": "rustc", "runtime_version": env!("RUSTC_VERSION"),
        "transport": if cfg!(target_os = "linux") { "epoll" } else { "kqueue" }, "pid": process::id(),
        "thread": thread::current().name(), "virtual": false, "requests": REQUESTS.load(Ordering::Relaxed),
        "heap_used": null, "heap_committed": null, "heap_max": null, "gc": [], "gc_count": 0, "gc_time_ms": 0,
        "limits": { "max_threads": pooled.then_some(settings.max_threads), "max_connections": null, "backlog": settings.backlog },
    });
    answer(StatusCode::OK, &[(CONTENT_TYPE, "application/json")], info.to_string())
}

/// Returns a number of the query or its default; refuses a bad one, and one that is missing without a default.
fn number(query: &Query, name: &str, max: u64, default: Option<u64>) -> Result<u64, (StatusCode, String)> {
    let number = query.get(name).map_or(default, |text| text.parse().ok()).filter(|number| *number <= max);
    number.ok_or_else(|| (StatusCode::BAD_REQUEST, format!("{name} must be an integer from 0 to {max}")))
}

pub fn answer(status: StatusCode, headers: &[(HeaderName, &'static str)], body: impl Into<Bytes>) -> Answer {
    let mut answer = Answer::new(Either::Left(Full::new(body.into())));
    *answer.status_mut() = status;
    answer.headers_mut().extend(headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))));
    answer
}

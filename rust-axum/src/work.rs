//! What is asked for: the answers of the contract, the same in every variant.

use std::{
    convert::Infallible,
    fs,
    pin::Pin,
    process,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll},
    thread,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::{
    Response, StatusCode,
    body::{Body, Frame, SizeHint},
    header::{ALLOW, CONTENT_TYPE, HeaderValue},
};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::{
    settings::Settings,
    variant::{Variant, processors},
};

const TEXT: HeaderValue = HeaderValue::from_static("text/plain;charset=utf-8");
const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Requests taken so far, on all paths.
pub static REQUESTS: AtomicU64 = AtomicU64::new(0);

pub type Content = Either<Full<Bytes>, Alphabet>;
pub type Answer = Response<Content>;

pub fn hello() -> Answer {
    answer(StatusCode::OK, TEXT, "Hello, World!")
}

// These two read their parameters at the call, so that nothing of the request is kept through the wait.

pub fn sleep(
    settings: &'static Settings,
    query: Option<&str>,
) -> impl Future<Output = Result<Answer, BadParameter>> + use<> {
    let ms = number(query, "ms", 60_000, Some(10_000));
    async move {
        settings.variant.sleep(Duration::from_millis(ms?)).await;
        Ok(hello())
    }
}

pub fn cpu(
    settings: &'static Settings,
    query: Option<&str>,
) -> impl Future<Output = Result<Answer, BadParameter>> + use<> {
    let rounds = number(query, "rounds", 10_000_000, None);
    let ms = number(query, "ms", 60_000, Some(0));
    async move {
        let (rounds, ms) = (rounds?, ms?);
        if ms > 0 {
            settings.variant.sleep(Duration::from_millis(ms)).await;
        }
        let digest = settings.variant.digest(rounds).await;
        Ok(answer(StatusCode::OK, TEXT, digest))
    }
}

pub fn bytes(query: Option<&str>) -> Result<Answer, BadParameter> {
    let left = number(query, "n", 16 << 20, None)?;
    let mut answer = Answer::new(Either::Right(Alphabet { left }));
    answer.headers_mut().insert(CONTENT_TYPE, BINARY);
    Ok(answer)
}

pub fn info(settings: &Settings) -> Answer {
    let variant = settings.variant;
    let (framework, version) = match variant {
        Variant::Hyper => ("hyper", env!("HYPER_VERSION")),
        Variant::Async | Variant::Platform => ("axum", env!("AXUM_VERSION")),
    };
    let max_threads = (variant == Variant::Platform).then_some(settings.max_threads);
    let nofile = rlimit::getrlimit(rlimit::Resource::NOFILE).map(|(soft, _)| soft);
    let info = json!({
        "server": env!("CARGO_PKG_NAME"),
        "variant": variant.name(),
        "model": variant.model(),
        "framework": framework,
        "framework_version": version,
        "runtime": "rustc",
        "runtime_version": env!("RUSTC_VERSION"),
        "pid": process::id(),
        "processors": processors(),
        "thread": thread::current().name(),
        "virtual": false,
        "os_threads": os_threads(),
        "heap_used": null,
        "heap_committed": null,
        "heap_max": null,
        "gc": [],
        "gc_count": 0,
        "gc_time_ms": 0,
        "requests": REQUESTS.load(Ordering::Relaxed),
        "limits": {
            "max_threads": max_threads,
            "max_connections": null,
            "backlog": settings.backlog,
            "nofile": nofile.ok(),
        },
    });
    answer(StatusCode::OK, JSON, info.to_string())
}

pub fn not_found() -> Answer {
    answer(StatusCode::NOT_FOUND, TEXT, "not found")
}

pub fn method_not_allowed() -> Answer {
    let mut answer = answer(StatusCode::METHOD_NOT_ALLOWED, TEXT, "method not allowed");
    let allowed = HeaderValue::from_static("GET, HEAD");
    answer.headers_mut().insert(ALLOW, allowed);
    answer
}

fn answer(status: StatusCode, kind: HeaderValue, text: impl Into<Bytes>) -> Answer {
    let mut answer = Answer::new(Either::Left(Full::new(text.into())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

/// A parameter that is not an integer from 0 to `max`, is given twice, or is missing.
pub struct BadParameter {
    name: &'static str,
    max: u64,
}

impl From<BadParameter> for Answer {
    fn from(BadParameter { name, max }: BadParameter) -> Self {
        let text = format!("{name} must be an integer from 0 to {max}");
        answer(StatusCode::BAD_REQUEST, TEXT, text)
    }
}

fn number(
    query: Option<&str>,
    name: &'static str,
    max: u64,
    default: Option<u64>,
) -> Result<u64, BadParameter> {
    let mut values = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .filter(|(key, _)| key == name)
        .map(|(_, value)| value);
    let number = match (values.next(), values.next()) {
        (None, _) => default,
        // At most 19 digits always fit into 64 bits.
        (Some(value), None) if value.len() <= 19 && value.bytes().all(|b| b.is_ascii_digit()) => {
            value.parse().ok()
        }
        _ => None,
    };
    number
        .filter(|number| *number <= max)
        .ok_or(BadParameter { name, max })
}

/// SHA-256 `rounds` times over, from 32 zero bytes, in hexadecimal.
pub fn digest(rounds: u64) -> String {
    let start = [0; 32].into();
    let digest = (0..rounds).fold(start, |digest, _| Sha256::digest(digest));
    format!("{:x}", Bytes::copy_from_slice(&digest))
}

fn os_threads() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let (_, rest) = status.split_once("Threads:")?;
    rest.lines().next()?.trim().parse().ok()
}

/// A whole number of alphabets, so that every chunk starts at `a`.
static CHUNK: [u8; 26 * 2_520] = {
    let mut chunk = [0; 26 * 2_520];
    let mut i = 0;
    while i < chunk.len() {
        chunk[i] = b'a' + (i % 26) as u8;
        i += 1;
    }
    chunk
};

/// A body that repeats the alphabet: slices of one static chunk, whatever its length.
pub struct Alphabet {
    left: u64,
}

impl Body for Alphabet {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let length = self.left.min(CHUNK.len() as u64);
        self.left -= length;
        let chunk = Bytes::from_static(&CHUNK[..length as usize]);
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

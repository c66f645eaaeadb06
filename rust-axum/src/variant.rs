//! The thread models: everything in which the variants differ, but for the routes of `hyper`.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use tokio::{runtime, task};

use crate::{settings::Settings, work};

/// About a tenth of a millisecond of hashing: less than a hand-over to another thread should have to earn.
const INLINE_ROUNDS: u64 = 1_000;

#[derive(Clone, Copy, PartialEq)]
pub enum Variant {
    Async,
    Platform,
    Hyper,
}

impl Variant {
    pub const ALL: [Self; 3] = [Self::Async, Self::Platform, Self::Hyper];

    pub fn name(self) -> &'static str {
        match self {
            Self::Async => "async",
            Self::Platform => "platform",
            Self::Hyper => "hyper",
        }
    }

    pub fn model(self) -> &'static str {
        match self {
            Self::Async | Self::Hyper => "async-task",
            Self::Platform => "platform-thread",
        }
    }

    /// Waits: a pool thread blocks, a task is woken by a timer.
    pub async fn sleep(self, time: Duration) {
        match self {
            Self::Platform => thread::sleep(time),
            Self::Async | Self::Hyper => tokio::time::sleep(time).await,
        }
    }

    /// Hashes: on the pool thread that has the request anyway, or off the workers,
    /// on which every other connection waits.
    pub async fn digest(self, rounds: u64) -> String {
        if self == Self::Platform || rounds <= INLINE_ROUNDS {
            return work::digest(rounds);
        }
        task::spawn_blocking(move || work::digest(rounds))
            .await
            .expect("hashing does not panic")
    }

    /// tokio's workers, one a processor, and its pool of blocking threads:
    /// `MAX_THREADS` for the requests of `platform`, else one a processor for long hashing.
    pub fn runtime(self, settings: &Settings) -> runtime::Runtime {
        let workers = processors();
        let pool = match self {
            Self::Platform => settings.max_threads,
            Self::Async | Self::Hyper => workers,
        };
        let started = AtomicUsize::new(0);
        runtime::Builder::new_multi_thread()
            .worker_threads(workers)
            .max_blocking_threads(pool)
            .thread_keep_alive(Duration::from_secs(60))
            // tokio starts the workers first and names all threads alike.
            .thread_name_fn(move || match started.fetch_add(1, Ordering::Relaxed) {
                n if n < workers => format!("tokio-{n}"),
                n => format!("pool-{}", n - workers),
            })
            .enable_all()
            .build()
            .expect("a runtime starts")
    }
}

pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

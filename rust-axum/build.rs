//! Hands the versions that `/info` shows to the compiler: none is typed by hand.

use std::{env, fs, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    let lock = fs::read_to_string("Cargo.lock").expect("Cargo.lock is beside build.rs");
    for package in ["axum", "hyper"] {
        let (_, entry) =
            lock.split_once(&format!("name = \"{package}\"\nversion = \"")).expect("the package is in Cargo.lock");
        let (version, _) = entry.split_once('"').expect("a version ends in a quote");
        let variable = format!("{}_VERSION", package.to_uppercase());
        println!("cargo::rustc-env={variable}={version}");
    }

    let rustc = env::var_os("RUSTC").expect("cargo sets RUSTC");
    let answer = Command::new(rustc).arg("--version").output().expect("rustc runs");
    let answer = String::from_utf8(answer.stdout).expect("rustc prints text");
    let version = answer.split(' ').nth(1).expect("rustc x.y.z (…)");
    println!("cargo::rustc-env=RUSTC_VERSION={version}");
}

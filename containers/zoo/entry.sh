#!/bin/sh
# The command of the image zoo: `docker compose run --rm zoo answer java-spring`, `... zoo bench-quick`.
set -eu
case ${1:-} in
    bench-quick)
        shift
        set -- bench --quick "$@"
        ;;
esac
case ${1:-} in
    list | doctor | *help | "") ;;
    *)
        if [ ! -w results ]; then
            echo "results/ belongs to another user than $(id -u), which the container runs as: for your own," \
                "run ZOO_UID=\$(id -u) docker compose run --rm zoo ...; as root, first chown $(id -u) results" >&2
            exit 2
        fi
        ;;
esac
exec zoo "$@"

# Shared by scripts/demo and scripts/test: which Debian packages are needed, and how they are installed. Sourced, not run.

build_packages="build-essential cmake ninja-build pkg-config libuv1-dev libmicrohttpd-dev libcurl4-openssl-dev libmariadb-dev
libsqlite3-dev libcjson-dev libyaml-dev uthash-dev libsodium-dev libzookeeper-mt-dev libzstd-dev tzdata ca-certificates"
test_packages="libcmocka-dev clang clang-format libclang-rt-14-dev llvm mariadb-server zookeeper python3 python3-pytest python3-requests
python3-kazoo python3-pymysql iproute2 faketime chromium fonts-noto-cjk curl procps git"

cluster_packages="mariadb-server zookeeper python3"

say() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Prints those of the given packages that are not installed.
missing_packages() {
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || printf '%s ' "$package"
    done
}

# Debian's node only where there is none at all: it conflicts with builds from elsewhere.
node_packages() {
    if command -v node >/dev/null && command -v npm >/dev/null; then :; else echo "nodejs npm"; fi
}

install_packages() {
    [ $# -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || die "these packages are missing and only root can install them: $*"
    DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >/dev/null || die "apt-get could not install: $*"
}

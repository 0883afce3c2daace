# Sourced by ./run and ./test: `make_environment FILE.lock` installs the packages of a lock file into .venv.
# It needs Python 3.11 or newer, and uses uv if available (ten times faster), else pip.

# Without compiled copies of its thousand modules, each process takes two seconds longer to start.
unset PYTHONDONTWRITEBYTECODE

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    for python in python3.14 python3.13 python3.12 python3.11 python3; do
        if is_new_enough "$python"; then
            return
        fi
    done
    fail "Hintbench needs Python 3.11 or newer; found: $(python3 --version 2>&1 || echo none)." \
        "  Debian 12, Ubuntu 24.04 and newer:  sudo apt-get install -y python3 python3-venv" \
        "  Ubuntu 22.04:  sudo apt-get install -y python3.11 python3.11-venv" \
        "  Any system, with uv (docs.astral.sh/uv):  uv python install 3.12"
}

install_with_apt() { # does nothing without apt-get or if sudo needs a password
    as_root=
    [ "$(id -u)" = 0 ] || as_root="sudo -n"
    if command -v apt-get >/dev/null && $as_root true 2>/dev/null; then
        echo "Installing with apt-get: $1 …"
        $as_root apt-get -q update || true
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$1" || true
    fi
}

make_venv() {
    find_python
    echo "Creating .venv with $("$python" --version) …"
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        "$python" -m venv --clear .venv
    elif command -v uv >/dev/null; then
        uv venv --quiet --clear --python "$python" .venv
    else
        package="$("$python" -c 'import sys; print("python3.%d-venv" % sys.version_info[1])')"
        install_with_apt "$package"
        "$python" -m venv --clear .venv ||
            fail "The venv module of Python is missing. Install it and start again:" \
                "  sudo apt-get install -y $package"
    fi
}

install_packages() {
    if command -v uv >/dev/null && uv pip install --quiet --python .venv/bin/python -r "$1"; then
        return
    fi
    if .venv/bin/python -m pip install --quiet uv 2>/dev/null &&
        .venv/bin/uv pip install --quiet --python .venv/bin/python -r "$1"; then
        return
    fi
    echo "uv could not install the packages; trying pip, which is slower …"
    .venv/bin/python -m pip install --quiet -r "$1" ||
        fail "The Python packages of $1 could not be installed; see the messages above."
}

make_environment() {
    is_new_enough .venv/bin/python || make_venv
    wanted="$(cksum <"$1") $(.venv/bin/python --version)"
    if [ "$(cat ".venv/$1.installed" 2>/dev/null)" != "$wanted" ]; then
        echo "Installing the Python packages of $1 …"
        install_packages "$1"
        printf '%s\n' "$wanted" >".venv/$1.installed"
    fi
}

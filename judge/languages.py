"""The languages: one entry for each. To add a language, add an entry here.

The judge, the highlighter, the extraction of replies, the pages and the commands read the registry that these
entries fill. `docs/judge.md` lists the entries, and a test compares the list.
"""

import functools
import re
from dataclasses import replace
from pathlib import Path

from judge.records import MEBIBYTE
from judge.toolchains import Family, Language, ProgramShape, register
from judge.toolchains.tools import (
    gnu_compiler,
    go_compiler,
    java_compiler,
    java_machine,
    kotlin_compiler,
    node_interpreter,
    pypy_interpreter,
    python_interpreter,
    rust_compiler,
)

_DRIVERS = Path(__file__).parent / "drivers"


def _last_line(pattern: str) -> str:
    """Return a pattern that the last line of a text matches as a whole."""
    return rf"(?:^|\n)(?:{pattern})\Z"


_OF_OTHERS = r"^[ \t]*(?:def\s+\w+\s*\(|(?:function|func|fn)\s+\w+|using\s+System\b|fn\s+main)"
_OF_JAVA_OR_KOTLIN = (
    r"\bpublic\s+class\b|\bimport\s+java\b|\bstatic\s+void\s+main\b|^package\s|\bfun\s+main\b"
)
_OF_CPP = r"\bstd::|\busing\s+namespace\b|\btemplate\s*<|\bcout\b|\bcin\b|#\s*include\s*<(?:bits/|[\w+]+>)"
_INTEGER_TYPES = r"int|signed|auto|void|int32_t|i32|long|ll|unsigned|INT"


def _lines(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


# Python

_PYTHON = Family(
    name="python",
    title="Python",
    tags=("python", "py", "pypy", "cpython", "ipython", "sage"),
    lexer="python",
)

# Prints the first file's code for the fork server. Programs that are nested too deeply for it start normally.
_CHECK_PYTHON = """
import marshal, sys
code, *_ = [compile(open(name, "rb").read(), name, "exec") for name in sys.argv[1:]]
try: sys.stdout.buffer.write(marshal.dumps(code))
except ValueError: pass
"""

CPYTHON = register(
    Language(
        name="python",
        title="Python 3",
        description="CPython 3.8 or newer",
        family=_PYTHON,
        extensions=(".py", ".py3"),
        source_name="main.py",
        start_names=("main.py", "__main__.py"),
        package_code="python3",
        find_tool=python_interpreter,
        install="Install Python 3.8 or newer, on Debian and Ubuntu: sudo apt install python3",
        compile=("{tool}", "-I", "-c", _CHECK_PYTHON, "{sources}"),
        makes_program=False,
        uses_fork_server=True,
        run=("{tool}", "-B", "{start}"),
        time_multiplier=2.0,
        speed_rank=90,
        out_of_memory=_last_line(r"[\w.]*MemoryError(:.*)?"),
    )
)

PYPY = register(
    replace(
        CPYTHON,
        name="pypy",
        title="Python 3 (PyPy)",
        description="PyPy 3",
        package_code="",
        find_tool=pypy_interpreter,
        install="Install PyPy 3, on Debian and Ubuntu: sudo apt install pypy3",
        uses_fork_server=False,
        speed_rank=80,
        version=(
            "{tool}",
            "-I",
            "-c",
            "import sys; print('PyPy %d.%d.%d' % sys.pypy_version_info[:3], sys.version)",
        ),
    )
)

# C and C++

_READING_IN_C = re.compile(
    r"\bcin\b|scanf|\bgetline\b|getchar|\bfread\b|\bread\s*\(|\bgets\b|ifstream|\bfgets\b|istream|\bgetc\b"
)
_WRITING_IN_C = re.compile(
    r"\bcout\b|printf|\bputs\b|putchar|ofstream|\bfwrite\b|\bwrite\s*\(|ostream|\bputc\b|println?\("
)

_CPP = Family(
    name="cpp",
    title="C++",
    tags=("cpp", "c++", "cc", "cxx", "cplusplus", "g++", "gnu++", "hpp"),
    lexer="cpp",
    headers=(".h", ".hh", ".hpp", ".hxx"),
    shape=ProgramShape(
        main=re.compile(rf"\b(?:{_INTEGER_TYPES})\s+main\s*\([^;{{}}]*\)[^;{{}}()]*\{{"),
        reading=_READING_IN_C,
        writing=_WRITING_IN_C,
        foreign=_lines(rf"{_OF_JAVA_OR_KOTLIN}|{_OF_OTHERS}"),
    ),
)

_C = Family(
    name="c",
    title="C",
    tags=("c", "gcc", "gnu"),
    lexer="c",
    shape=ProgramShape(
        main=_lines(rf"(?:\b(?:{_INTEGER_TYPES})\s+|^)main\s*\([^;{{}}]*\)\s*\{{"),
        reading=_READING_IN_C,
        writing=_WRITING_IN_C,
        foreign=_lines(rf"{_OF_CPP}|{_OF_JAVA_OR_KOTLIN}|{_OF_OTHERS}"),
    ),
)

CPP = register(
    Language(
        name="cpp",
        title="C++ 20",
        description="g++ 10 or newer, `-std=gnu++20 -O2`",
        family=_CPP,
        extensions=(".cpp", ".cc", ".cxx", ".c++"),
        source_name="main.cpp",
        package_code="cpp",
        find_tool=functools.partial(gnu_compiler, "g++", "gnu++20"),
        install="Install g++ 10 or newer, on Debian and Ubuntu: sudo apt install g++",
        compile=("{tool}", "-std=gnu++20", "-O2", "-pipe", "-DONLINE_JUDGE", "-o", "{program}", "{sources}"),
        run=("{program}",),
        time_multiplier=1.0,
        speed_rank=10,
        out_of_memory=_last_line(r"\s*what\(\):\s+std::bad_alloc"),
        precompiled="bits/stdc++.h",
    )
)


def _cpp(name: str, title: str, standard: str, oldest: int, speed_rank: int) -> Language:
    return replace(
        CPP,
        name=name,
        title=title,
        description=f"g++ {oldest} or newer, `-std={standard} -O2`",
        package_code="",
        find_tool=functools.partial(gnu_compiler, "g++", standard),
        install=f"Install g++ {oldest} or newer, which supports {standard}, on Debian and Ubuntu: sudo apt install g++",
        compile=tuple(word.replace("gnu++20", standard) for word in CPP.compile),
        speed_rank=speed_rank,
    )


CPP17 = register(_cpp("cpp17", "C++ 17", "gnu++17", 8, speed_rank=11))
CPP23 = register(_cpp("cpp23", "C++ 23", "gnu++2b", 11, speed_rank=12))

C = register(
    replace(
        CPP,
        name="c",
        title="C",
        description="gcc 8 or newer, `-std=gnu17 -O2`",
        family=_C,
        extensions=(".c",),
        source_name="main.c",
        package_code="c",
        find_tool=functools.partial(gnu_compiler, "gcc", "gnu17"),
        install="Install gcc 8 or newer, on Debian and Ubuntu: sudo apt install gcc",
        compile=(
            "{tool}",
            "-std=gnu17",
            "-O2",
            "-pipe",
            "-DONLINE_JUDGE",
            "-o",
            "{program}",
            "{sources}",
            "-lm",
        ),
        speed_rank=13,
        precompiled=None,
    )
)

# Java and Kotlin

_JVM = ("{machine}", "-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1", "-XX:-UsePerfData")
# The compilers run for a second or two, for which the first of the two just-in-time compilers is the faster choice.
_JVM_COMPILER = (*_JVM, "-XX:TieredStopAtLevel=1", "-Xmx1g", "-Xss64m")
_JVM_STACK = 64  # MiB
_JVM_UNWINDING = 6 * _JVM_STACK
"""MiB that the virtual machine takes, measured, to unwind such a stack when it overflows in compiled code."""

_JAVA = Family(
    name="java",
    title="Java",
    tags=("java", "openjdk"),
    lexer="java",
    shape=ProgramShape(
        main=re.compile(
            r"\bstatic\s+(?:(?:public|final|synchronized)\s+)*void\s+main\s*\([^;{}]*\)[^;{}()]*\{"
        ),
        reading=re.compile(r"System\.in\b|Scanner|Reader|InputStream|StreamTokenizer|Files\.|\bio\."),
        writing=re.compile(
            r"System\.out\b|PrintWriter|PrintStream|BufferedWriter|OutputStream|\bout\.|\bio\."
        ),
        foreign=_lines(rf"^[ \t]*#\s*include\b|\bfun\s+main\b|{_OF_OTHERS}"),
        has_triple_quotes=True,
    ),
)

JAVA = register(
    Language(
        name="java",
        title="Java",
        description="a JDK, 11 or newer; the heap is as large as the memory limit, the stack 64 MiB",
        family=_JAVA,
        extensions=(".java",),
        source_name="Main.java",
        package_code="java",
        find_tool=java_compiler,
        find_machine=java_machine,
        install="Install a JDK 11 or newer, on Debian and Ubuntu: sudo apt install default-jdk-headless",
        compile=(*_JVM_COMPILER, "{driver}", "{program}", "{sources}"),
        driver=_DRIVERS / "CompileJava.java",
        run=(
            *_JVM,
            # Makes the error the last line, even where the program catches it or would print a long stack trace.
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:+DisplayVMOutputToStderr",
            f"-Xss{_JVM_STACK}m",
            "-Xms{memory}m",
            "-Xmx{memory}m",
            "-jar",
            "{program}",
        ),
        time_multiplier=2.0,
        speed_rank=40,
        # The virtual machine does not end by itself where direct memory runs out, but the stack trace shows it.
        out_of_memory=_last_line(r"Terminating due to java\.lang\.OutOfMemoryError.*")
        + r"|(?:^|\n)(?:Exception in thread \"[^\"\n]*\"|Caused by:) java\.lang\.OutOfMemoryError: "
        r"(?:Direct buffer memory|Cannot reserve \d+ bytes of direct buffer memory)[^\n]*"
        r"(?:\n\t[^\n]*|\nCaused by: [^\n]*)*\Z",
        allowance=(64 + _JVM_STACK + _JVM_UNWINDING) * MEBIBYTE,
    )
)

_KOTLIN = Family(
    name="kotlin",
    title="Kotlin",
    tags=("kotlin", "kt", "kts"),
    lexer="kotlin",
    shape=ProgramShape(
        main=re.compile(r"\bfun\s+main\s*\([^;{}]*\)\s*(?::\s*Unit\s*)?(?:\{|=)"),
        reading=re.compile(
            r"\breadLine|\breadln|System\.|Scanner|Reader|\breadInt|generateSequence|lineSequence|stdin"
        ),
        writing=re.compile(r"\bprint|System\.out|PrintWriter|BufferedWriter|\.write|appendLine"),
        foreign=_lines(rf"^[ \t]*#\s*include\b|\bstatic\s+void\s+main\b|{_OF_OTHERS}"),
        has_triple_quotes=True,
    ),
)

KOTLIN = register(
    replace(
        JAVA,
        name="kotlin",
        title="Kotlin",
        description="kotlinc and a JDK; run as Java",
        family=_KOTLIN,
        extensions=(".kt",),
        source_name="main.kt",
        package_code="kotlin",
        find_tool=kotlin_compiler,
        install=(
            "Install a JDK and the Kotlin compiler, on Debian and Ubuntu: sudo apt install default-jdk-headless "
            "kotlin; for a newer compiler, unpack kotlin-compiler-*.zip of the Kotlin project to /opt/kotlinc"
        ),
        compile=(*_JVM_COMPILER, "-cp", "{libraries}", "{driver}", "{tool}", "{program}", "{sources}"),
        driver=_DRIVERS / "CompileKotlin.java",
        speed_rank=41,
        version=(
            *_JVM_COMPILER,
            "-cp",
            "{libraries}",
            "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler",
            "-version",
        ),
    )
)

# Rust

_RUST = Family(
    name="rust",
    title="Rust",
    tags=("rust", "rs", "rustlang"),
    lexer="rust",
    ambiguous_tags=("rust",),
    shape=ProgramShape(
        main=re.compile(r"\bfn\s+main\s*\(\s*\)[^;{}()]*\{"),
        reading=re.compile(r"\bstdin\b|\bread_line\b|\bread_to_string\b|\bBufRead\b|\binput!"),
        writing=re.compile(r"\bprint(?:ln)?!|\bwrite(?:ln)?!|\bstdout\b|\bwrite_all\b"),
        foreign=_lines(
            r"^[ \t]*#\s*include\b|\bpublic\s+class\b|\bfun\s+main\b|^[ \t]*(?:def\s+\w+\s*\(|func\s+\w+)"
        ),
        definition=re.compile(r"\bfn\s+\w+\s*[<(]|\b(?:impl|trait|mod)\b"),
        # Lifetimes such as 'a begin like characters.
        literals=re.compile(
            r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|$)|//[^\n]*|\br(#+)\".*?(?:\"\1|\Z)|\"(?:\\.|[^\"\\])*+\"?"
            r"|'(?:\\[^\n']{1,8}|[^'\\\n])'",
            re.DOTALL,
        ),
    ),
)

RUST = register(
    Language(
        name="rust",
        title="Rust",
        description="rustc 1.63 or newer, `--edition 2021 -C opt-level=2`",
        family=_RUST,
        extensions=(".rs",),
        source_name="main.rs",
        start_names=("main.rs",),
        package_code="rust",
        find_tool=rust_compiler,
        install="Install rustc 1.63 or newer and gcc, its linker, on Debian and Ubuntu: sudo apt install rustc gcc",
        compile=(
            "{tool}",
            "--edition=2021",
            "--crate-name=main",
            "-Copt-level=2",
            "-Cstrip=symbols",
            "-o",
            "{program}",
            "{start}",
        ),
        run=("{program}",),
        time_multiplier=1.0,
        speed_rank=20,
        out_of_memory=r"(?:^|\n)memory allocation of \d+ bytes failed(?:\n|\Z)",
    )
)

# Go

_GO = Family(
    name="go",
    title="Go",
    tags=("go", "golang"),
    lexer="go",
    ambiguous_tags=("go",),
    shape=ProgramShape(
        main=re.compile(r"\bfunc\s+main\s*\(\s*\)\s*\{"),
        reading=re.compile(
            r"\bStdin\b|\b[FS]?[Ss]can(?:ln|f)?\s*\(|\bNewReader\b|\bNewScanner\b|\bReadAll\b"
        ),
        writing=re.compile(r"\bF?[Pp]rint(?:ln|f)?\s*\(|\bStdout\b|\bWriteString\s*\("),
        foreign=_lines(
            r"^[ \t]*#\s*include\b|\bpublic\s+class\b|\bfun\s+main\b|^[ \t]*(?:def\s+\w+\s*\(|fn\s+\w+)"
        ),
        definition=re.compile(
            r"\bfunc\s+(?:\([^()]*\)\s*)?\w+\s*[\[(]|\btype\s+\w+\s+(?:struct|interface)\b"
        ),
        literals=re.compile(
            r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|$)|//[^\n]*|\"(?:\\.|[^\"\\\n])*+\"?|`[^`]*+`?"
            r"|'(?:\\[^\n']{1,8}|[^'\\\n])'"
        ),
    ),
)

GO = register(
    Language(
        name="go",
        title="Go",
        description="go 1.19 or newer, one processor",
        family=_GO,
        extensions=(".go",),
        source_name="main.go",
        package_code="go",
        find_tool=go_compiler,
        install="Install Go 1.19 or newer, on Debian and Ubuntu: sudo apt install golang-go",
        compile=("{tool}", "build", "-p=1", "-ldflags=-s -w", "-o", "{program}", "{sources}"),
        run=("{program}",),
        time_multiplier=1.5,
        speed_rank=30,
        out_of_memory=r"(?:^|\n)fatal error: (?:runtime: )?(?:out of memory|cannot allocate memory)",
        allowance=32 * MEBIBYTE,
        environment={
            "GOCACHE": "/box/.cache",
            "GOPATH": "/box/.go",
            "GOENV": "off",
            "GO111MODULE": "off",
            "GOPROXY": "off",
            "GOTOOLCHAIN": "local",
            "CGO_ENABLED": "0",
            "GOMAXPROCS": "1",
            # The garbage collector works harder near the limit instead of letting the heap double.
            "GOMEMLIMIT": "{memory}MiB",
        },
        # Debian links a part of the installation to /usr/share.
        readable=("/usr/share/go-*",),
        version=("{tool}", "version"),
    )
)

# JavaScript

_JAVASCRIPT = Family(
    name="javascript",
    title="JavaScript",
    tags=("javascript", "js", "node", "nodejs", "mjs", "cjs"),
    lexer="javascript",
    ambiguous_tags=("node",),
    shape=ProgramShape(
        main=None,
        reading=re.compile(r"\breadFileSync\b|\bstdin\b|\breadline\b|\breadSync\b|\bcreateInterface\b"),
        writing=re.compile(r"\bconsole\s*\.\s*(?:log|info)\b|\bstdout\b|\bwriteFileSync\b|\bwriteSync\b"),
        foreign=_lines(
            r"^[ \t]*#\s*include\b|\bpublic\s+class\b|\bfunc?\s+main\b|\bfn\s+main\b|^package\s|^[ \t]*def\s+\w+\s*\("
            r"|\busing\s+namespace\b|\bint\s+main\s*\("
        ),
        definition=re.compile(r"\bfunction\b[\s*]*\w*\s*\(|=>"),
        literals=re.compile(
            r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|$)|//[^\n]*|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?"
            r"|`(?:\\.|[^`\\])*+`?",
            re.DOTALL,
        ),
    ),
)

# Braces are doubled because commands are format strings.
_CHECK_JAVASCRIPT = (
    "for (const name of process.argv.slice(1)) {{ const check = require('child_process')"
    ".spawnSync(process.execPath, ['--check', name], {{stdio: 'inherit'}}); if (check.status) process.exit(1); }}"
)
_NODE_STACK = 64  # MiB

JAVASCRIPT = register(
    Language(
        name="javascript",
        title="JavaScript",
        description=f"Node.js 18 or newer; the heap is as large as the memory limit, the stack {_NODE_STACK} MiB",
        family=_JAVASCRIPT,
        extensions=(".js", ".cjs", ".mjs"),
        source_name="main.js",
        start_names=("main.js", "index.js", "main.mjs", "main.cjs"),
        package_code="javascript",
        find_tool=node_interpreter,
        install="Install Node.js 18 or newer, on Debian and Ubuntu: sudo apt install nodejs",
        compile=("{tool}", "-e", _CHECK_JAVASCRIPT, "{sources}"),
        makes_program=False,
        run=(
            "{tool}",
            f"--stack-size={_NODE_STACK * 1000}",
            "--max-old-space-size={memory}",
            "--max-semi-space-size=16",
            "{start}",
        ),
        time_multiplier=2.0,
        speed_rank=50,
        out_of_memory="JavaScript heap out of memory|RangeError: Array buffer allocation failed",
        # The interpreter itself, its young generation of three semi-spaces, and the stack.
        allowance=(64 + 3 * 16 + _NODE_STACK) * MEBIBYTE,
        environment={"NODE_ENV": "production", "UV_THREADPOOL_SIZE": "1"},
        # Debian keeps a part of the standard library there.
        readable=("/usr/share/nodejs",),
    )
)

"""Compilation in the sandbox: sources are checked, compiled and cached, and headers are precompiled."""

from judge.compilation.compiling import COMPILER_STOPPED, Compilation, CompiledProgram, compile_program
from judge.compilation.precompiled_headers import prepare
from judge.compilation.sources import MAXIMUM_BYTES, MAXIMUM_FILES

__all__ = [
    "COMPILER_STOPPED",
    "MAXIMUM_BYTES",
    "MAXIMUM_FILES",
    "Compilation",
    "CompiledProgram",
    "compile_program",
    "prepare",
]

"""Compilation in the sandbox: sources are checked, compiled and cached, and headers are precompiled."""

from judge.compilation.compiling import Compilation, CompiledProgram, compile_program
from judge.compilation.precompiled_headers import prepare
from judge.compilation.sources import MAXIMUM_BYTES, MAXIMUM_FILES

__all__ = ["MAXIMUM_BYTES", "MAXIMUM_FILES", "Compilation", "CompiledProgram", "compile_program", "prepare"]

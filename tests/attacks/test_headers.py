"""What a program asks its compiler to open: files of the machine stay shut however they are spelt."""

import os
from pathlib import Path

import pytest

from gate.build.test_compile import build_error, cuda
from kernel_gate.build.compile import compile_program
from kernel_gate.build.errors import BuildError
from kernel_gate.reasons import Reason
from kernel_gate.sandbox.containment import offered

pytestmark = pytest.mark.skipif(
    not offered().holds, reason="this machine has no sandbox; klineage doctor says so"
)

KERNEL = "__global__ void k(float *y) { y[0] = 1.0f; }\n"
MARK = "kept_to_ourselves"

INCLUDES = {
    "an absolute path": '#include "{file}"\n',
    "angle brackets": "#include <{file}>\n",
    "a path upwards": '#include "{upwards}"\n',
    "a macro": "#define H <{file}>\n#include H\n",
    "a macro that makes a string": "#define S(x) #x\n#define Q(x) S(x)\n#include Q({file})\n",
    "a digraph": '%:include "{file}"\n',
    "a spliced line": '#inc\\\nlude "{file}"\n',
    "a comment within": '#/**/include/**/"{file}"\n',
    "digit separators before": "constexpr int a = 1'000'000;\n#include \"{file}\"\nconstexpr int b = 1'0;\n",
    "quotes that open a comment": "constexpr int a = 1'0; // '\n#include \"{file}\"\n// '\n",
    "a raw string before": 'constexpr char s[] = R"x(/*)x";\n#include "{file}"\n// */\n',
    "another name for the line": '#line 1 "/usr/include/stdio.h"\n#include "{file}"\n',
    "next of its name": "#include_next <{file}>\n",
    "a pragma of a system header": '#pragma GCC system_header\n#include "{file}"\n',
    "a prefix that exists": '#include "/usr/include/../..{file}"\n',
    "the process's own root": '#include "/proc/self/root{file}"\n',
    "the working directory of its parent": '#include "/proc/self/cwd/{upwards}"\n',
}


def all_that_is_said(error):
    return f"{error}{error.log}{error.diagnostics}"


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    file = tmp_path_factory.mktemp("home") / "secret.h"
    file.write_text(f"{MARK}\n", "utf-8")
    return file


@pytest.mark.parametrize("text", INCLUDES.values(), ids=INCLUDES.keys())
@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc"])
def test_a_file_of_the_machine_is_not_opened_and_the_header_is_named(secret, text, compiler):
    upwards = "../" * 12 + str(secret)[1:]
    error = build_error(cuda(text.format(file=secret, upwards=upwards) + KERNEL, "k", compiler=compiler))
    assert MARK not in all_that_is_said(error)
    assert "may be included" in str(error)
    assert "secret.h" in str(error)
    assert error.code is Reason.SOURCE_NOT_ALLOWED


@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc"])
def test_a_package_of_the_interpreter_is_no_header(compiler):
    """The child itself runs from these files; the compiler may not open them."""
    error = build_error(cuda(f'#include "{pytest.__file__}"\n{KERNEL}', "k", compiler=compiler))
    assert "may be included" in str(error)


@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc"])
def test_asking_whether_a_file_exists_is_answered_alike(secret, compiler):
    for file in (secret, secret.parent / "missing.h"):
        asks = f'#if __has_include("{file}")\n#error there\n#endif\n{KERNEL}'
        assert compile_program(cuda(asks, "k", compiler=compiler), "sm_80")


@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc"])
@pytest.mark.parametrize("directive", ["embed", "import", "pragma include_alias"])
def test_other_directives_bring_no_file(secret, compiler, directive):
    source = f'#{directive} "{secret}"\n{KERNEL}'
    program = cuda(source, "k", compiler=compiler)
    if directive.startswith("pragma"):
        assert compile_program(program, "sm_80")
        return
    assert MARK not in all_that_is_said(build_error(program))


@pytest.mark.parametrize(
    "text",
    [
        '\\n.include \\"{file}\\"\\n',
        '{{ }} .include \\"{file}\\"\\n',
        '/* */.include\\t\\"{file}\\"',
        '.file 9 \\"{file}\\"',
    ],
)
def test_inline_ptx_brings_no_file(secret, text):
    inline = KERNEL.replace("y[0]", f'asm volatile("{text.format(file=secret)}"); y[0]', 1)
    error = build_error(cuda(inline, "k"), want_cubin=True)
    assert MARK not in all_that_is_said(error)


@pytest.mark.parametrize("text", ['asm(".incbin \\"{file}\\"");', 'asm(".include \\"{file}\\"");'])
def test_inline_assembly_of_the_host_brings_no_file(secret, text):
    program = cuda(text.format(file=secret) + "\n" + KERNEL, "k", compiler="nvcc")
    try:
        images = compile_program(program, "sm_80")
    except BuildError as error:
        assert MARK not in all_that_is_said(error)
    else:
        assert all(MARK not in image.ptx for image in images.values())


def test_a_header_name_that_leaves_the_folder_is_refused():
    program = cuda(KERNEL, "k", compiler="nvcc", includes={"../../outside.h": "int a;"})
    assert "leaves the program's folder" in str(build_error(program))
    assert not Path("/outside.h").exists()


@pytest.mark.parametrize(
    "flag", ["@/etc/opts", "-I/", "-include=/etc/passwd", "-Xcompiler=-I/", "--options-file=/x"]
)
def test_flags_and_response_files_are_on_a_list(flag):
    assert "not allowed" in str(build_error(cuda(KERNEL, "k", compiler="nvcc", flags=(flag,))))


def test_a_missing_header_says_the_same():
    error = build_error(cuda(f'#include "mine.cuh"\n{KERNEL}', "k"))
    assert "asks for the header mine.cuh" in str(error)


@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc"])
def test_own_headers_and_unused_ones_are_no_matter(compiler):
    source = f'#if 0\n#include "{os.devnull}x"\n#endif\n// #include "a"\n#include "mine/a.cuh"\n{KERNEL}'
    own = {"mine/a.cuh": '#include "b.cuh"\n' if compiler == "nvcc" else "", "mine/b.cuh": ""}
    assert compile_program(cuda(source, "k", compiler=compiler, includes=own), "sm_80")

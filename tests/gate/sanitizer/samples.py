"""What compute-sanitizer 2025.3 wrote with --xml --save for planted faults on an H200, shortened."""


def document(*records: str) -> bytes:
    body = "\n".join(f"<record>{r}</record>" for r in records)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<ComputeSanitizerOutput>{body}</ComputeSanitizerOutput>'.encode()


def _who(thread: int, block: int) -> str:
    return (
        f"<who><threadIdx><x>{thread}</x><y>0</y><z>0</z></threadIdx>"
        f"<blockIdx><x>{block}</x><y>0</y><z>0</z></blockIdx></who>"
    )


def _where(line: int, path: str = "/src/program.cu") -> str:
    return f"<where><func>k</func><path>{path}</path><line>{line}</line><pc>0xc0</pc></where>"


OUT_OF_BOUNDS = (
    "<kind>Precise</kind><level>Error</level>" + _who(39, 15) + "<what>"
    "<text>Invalid __global__ read of size 4 bytes is out of bounds</text><space>__global__</space><size>4</size>"
    "<direction>read</direction><error>out of bounds</error><address>0x7f5ece802fa0</address></what>"
    + _where(3)
)
MISALIGNED = (
    "<kind>Precise</kind><level>Error</level>" + _who(1, 0) + "<what>"
    "<text>Invalid __global__ write of size 16 bytes is misaligned</text><space>__global__</space><size>16</size>"
    "<direction>write</direction><error>misaligned</error><address>0x7fa6c8800014</address></what>"
    + _where(2)
)
SHARED = (
    "<kind>Precise</kind><level>Error</level>" + _who(63, 8) + "<what>"
    "<text>Invalid __shared__ write of size 4 bytes is out of bounds</text><space>__shared__</space><size>4</size>"
    "<direction>write</direction><error>out of bounds</error><address>0x500</address></what>" + _where(2)
)
TRAP = (
    "<kind>Imprecise</kind><level>Error</level>" + _who(5, 0) + "<what>"
    "<exception>Trace/breakpoint trap</exception><pc>0x90</pc></what>" + _where(2)
)
RACE = (
    "<kind>Analysis</kind><level>Error</level><what><text>Race condition</text>"
    "<source><direction>Write</direction>" + _where(3) + "</source>"
    "<destination><direction>Read</direction>" + _where(4) + "<count>4000</count></destination></what>"
)
RACE_IN_A_WARP = RACE.replace("<level>Error", "<level>Warning")
RACE_OF_A_STORE = RACE.replace("Read", "Write").replace(_where(4), _where(3))
UNINITIALISED = (
    "<kind>Initcheck</kind>" + _who(0, 13) + "<what>"
    "<text>Uninitialized __global__ memory read of size 4 bytes</text><address>0x7f3f16800d00</address>"
    "<size>4</size></what>" + _where(3)
)
BARRIER = (
    "<kind>Synccheck</kind>" + _who(32, 13) + "<what><text>Barrier error</text>"
    "<type>Divergent thread(s) in warp</type></what>" + _where(4)
)
API = (
    "<kind>Api</kind><what><text>Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) on CUDA API call to "
    "cuCtxSynchronize.</text><api>cuCtxSynchronize</api><result>719</result></what>"
)
OVERFLOW = (
    "<kind>Sanitizer</kind><level>Warning</level><what><text>Warning: Error buffer overflow has been detected. "
    "Some records have been dropped</text></what>"
)

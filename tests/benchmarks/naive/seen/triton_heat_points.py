import torch
import triton
import triton.language as tl


@triton.jit
def heat_step(u, out, nx, ny, nz, c):
    # one point of the grid for a program
    x = tl.program_id(0)
    y = tl.program_id(1)
    z = tl.program_id(2)
    at = (z * ny + y) * nx + x
    inside = (x > 0) & (x < nx - 1) & (y > 0) & (y < ny - 1) & (z > 0) & (z < nz - 1)
    mid = tl.load(u + at)
    near = tl.load(u + at - 1, mask=inside, other=0.0) + tl.load(u + at + 1, mask=inside, other=0.0)
    near += tl.load(u + at - nx, mask=inside, other=0.0) + tl.load(u + at + nx, mask=inside, other=0.0)
    near += tl.load(u + at - nx * ny, mask=inside, other=0.0) + tl.load(
        u + at + nx * ny, mask=inside, other=0.0
    )
    tl.store(out + at, tl.where(inside, mid + c * (near - 6.0 * mid), mid))


def step(u, c=0.1):
    nz, ny, nx = u.shape
    out = torch.empty_like(u)
    heat_step[(nx, ny, nz)](u, out, nx, ny, nz, c)
    return out

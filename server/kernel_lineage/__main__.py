"""`python -m kernel_lineage`: the `klineage` command of this interpreter."""

from kernel_lineage.cli.main import main

main(prog_name="klineage")

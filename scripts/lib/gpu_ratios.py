"""Ratios of a gpu-check folder: gpu_ratios.py FOLDER. Prints tables of text; needs Python's standard library only."""
import collections
import csv
import os
import statistics
import sys

MEMORY_OPS = {"softmax", "layernorm", "pointwise", "copy", "rope", "gather", "reduce", "cumsum", "pool"}


def rows(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return []
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def number(row, column):
    return float(row[column]) if row.get(column) else None


def count_statuses(folder):
    counts = collections.Counter(row["status"] for row in rows(folder, "results.csv"))
    worst = collections.defaultdict(float)
    for row in rows(folder, "results.csv"):
        if row.get("max_relative_error"):
            worst[row["dtype"]] = max(worst[row["dtype"]], float(row["max_relative_error"]))
    errors = ", ".join(f"{dtype} {error:.1e}" for dtype, error in sorted(worst.items()))
    print(f"{os.path.basename(folder)}: {dict(counts)}; largest error against the reference: {errors or '-'}")
    for row in rows(folder, "results.csv"):
        if row["status"] not in ("ok", "unsupported", "invalid"):
            print(f"  {row['status']}: {row['id']}: {row['reason']}")


def copy_bandwidth(kernels):
    """The fastest copy beyond the caches: what memory-bound kernels are held against."""
    rates = [number(k, "bytes_per_s") for k in kernels if k["op"] == "copy" and (number(k, "bytes") or 0) > 200e6]
    return max((rate for rate in rates if rate), default=None)


def kernel_table(folder):
    kernels = rows(folder, "kernels.csv")
    copy = copy_bandwidth(kernels)
    print(f"\n{os.path.basename(folder)}: fastest large copy {copy / 1e12:.2f} TB/s" if copy
          else f"\n{os.path.basename(folder)}: no large copy was timed")
    groups = collections.defaultdict(list)
    for kernel in kernels:
        groups[(kernel["op"], kernel["shape"], kernel["kernel_impl"])].append(kernel)
    print(f"{'op':10} {'TFLOP/s':>8} {'GB/s':>8} {'of copy':>8} {'flops':>7} {'bytes':>7}  shape, implementation")
    for (op, shape, implementation), same in sorted(groups.items()):
        def median(column):
            values = [number(k, column) for k in same if number(k, column) is not None]
            return statistics.median(values) if values else None
        flops, rate = median("flops_per_s"), median("bytes_per_s")
        share = rate / copy if rate and copy and op in MEMORY_OPS else None
        cells = [f"{flops / 1e12:8.1f}" if flops else f"{'-':>8}", f"{rate / 1e9:8.0f}" if rate else f"{'-':>8}",
                 f"{share:8.2f}" if share else f"{'-':>8}"]
        for column in ("counted_flops_ratio", "counted_bytes_ratio"):
            value = median(column)
            cells.append(f"{value:7.2f}" if value is not None else f"{'-':>7}")
        print(f"{op:10} {' '.join(cells)}  {shape}, {implementation}")


def attention_ratios(own_folder, library_folder):
    """Time of cuDNN's attention over that of the own kernel, on the same launches."""
    def times(folder):
        return {(k["id"], k["scope"]): k for k in rows(folder, "kernels.csv")
                if k["op"] == "attention" and number(k, "time_median_s")}
    own, library = times(own_folder), times(library_folder)
    print("\nfused attention: cuDNN's time over our own")
    for key in sorted(own.keys() & library.keys()):
        if library[key]["kernel_impl"].startswith("cudnn"):
            ratio = number(library[key], "time_median_s") / number(own[key], "time_median_s")
            print(f"  {ratio:5.2f}  {key[0]}")


def main():
    folder = sys.argv[1]
    for name in ("variants", "layouts", "large", "decode"):
        count_statuses(os.path.join(folder, name))
    for name in ("large", "decode"):
        kernel_table(os.path.join(folder, name))
    attention_ratios(os.path.join(folder, "large"), os.path.join(folder, "cudnn"))


main()

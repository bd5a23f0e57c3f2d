"""Ratios of a gpu-check folder: gpu_ratios.py FOLDER. Prints tables of text; needs Python's standard library only.

Exit 1 where a bar is short. A bar that nothing was measured for is said to be missing, and is no shortfall: small cases
fill no card, and a card may forbid counters.
"""
import collections
import csv
import json
import os
import statistics
import sys

MEMORY_OPS = {"softmax", "layernorm", "pointwise", "copy", "rope", "gather", "reduce", "cumsum", "pool"}
PRODUCT_BAR = 0.85
MEMORY_BAR = 0.85
LARGE_PRODUCT_FLOPS = 1e11  # a smaller product leaves multiprocessors idle
BEYOND_CACHE = 4  # working set in sizes of the second-level cache


def rows(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def number(row, column):
    return float(row[column]) if row.get(column) else None


def median_of(same, column):
    values = [number(k, column) for k in same if number(k, column) is not None]
    return statistics.median(values) if values else None


def cell(value, form, width):
    return f"{value:{form}}" if value is not None else f"{'-':>{width}}"


class Ceilings:
    """What `machine measure --device cuda` found: rates by unit and dtype, or by memory level."""

    def __init__(self, path):
        self.rates, self.l2_bytes = {}, None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                found = json.load(stream)
            for one in found["compute"]:
                self.rates[f"{one['unit']} {one['dtype']}"] = one["flops_per_s"]
            for one in found["bandwidth"]:
                self.rates[one["level"]] = one["bytes_per_s"]
                self.l2_bytes = one.get("capacity_bytes", self.l2_bytes)

    def product(self, row):
        """cuBLASLt alone on its largest product, by what the row multiplies in."""
        dtype = "tf32" if row.get("math") == "tf32" else row.get("dtype")
        return self.rates.get("fma f32" if dtype == "f32" else f"tensor {dtype}")


def configurations(folder):
    return {row["id"]: row for row in rows(folder, "results.csv")}


def kernels_of(folder):
    """Launches, each with the configuration of its case."""
    cases = configurations(folder)
    return [{**{k: v for k, v in cases.get(kernel["id"], {}).items() if k in ("dtype", "math")}, **kernel}
            for kernel in rows(folder, "kernels.csv")]


def print_statuses(folders):
    """Every row that is not ok, and the largest error against the reference by dtype and math."""
    worst, count = collections.defaultdict(float), collections.Counter()
    failed = 0
    for folder in folders:
        found = rows(folder, "results.csv")
        statuses = collections.Counter(row["status"] for row in found)
        levels = collections.Counter(row["device_level"] for row in found if row.get("device_level"))
        print(f"{os.path.basename(folder)}: {len(found)} rows, "
              f"{', '.join(f'{n} {status}' for status, n in sorted(statuses.items())) or 'none'}; levels: "
              f"{', '.join(f'{n} {level}' for level, n in sorted(levels.items())) or '-'}")
        for row in found:
            if row.get("max_relative_error"):
                key = "tf32" if row.get("math") == "tf32" else row["dtype"]
                worst[key] = max(worst[key], float(row["max_relative_error"]))
                count[key] += 1
            if row["status"] not in ("ok", "unsupported", "invalid"):
                print(f"  {row['status']}: {row['id']}: {row['reason']}")
            failed += row["status"] in ("incorrect", "failed")
    print("\nlargest error against the float64 reference")
    for key in sorted(worst):
        print(f"  {key:5} {worst[key]:.1e}  over {count[key]} cases")
    return failed


def print_kernels(folder, ceilings):
    groups = collections.defaultdict(list)
    for kernel in kernels_of(folder):
        groups[(kernel["op"], kernel["shape"], kernel["kernel_impl"])].append(kernel)
    if not groups:
        return
    print(f"\n{os.path.basename(folder)}: launches; flops and bytes are counted over expected")
    print(f"{'op':10} {'TFLOP/s':>8} {'GB/s':>8} {'of peak':>8} {'of copy':>8} {'flops':>7} {'bytes':>7}  "
          f"shape, implementation")
    for (op, shape, implementation), same in sorted(groups.items()):
        flops, rate = median_of(same, "flops_per_s"), median_of(same, "bytes_per_s")
        peak, copy = ceilings.product(same[0]), ceilings.rates.get("DRAM")
        cells = [cell(flops and flops / 1e12, "8.1f", 8), cell(rate and rate / 1e9, "8.0f", 8),
                 cell(flops / peak if flops and peak and op in ("matmul", "attention") else None, "8.2f", 8),
                 cell(rate / copy if rate and copy and op in MEMORY_OPS else None, "8.2f", 8),
                 cell(median_of(same, "counted_flops_ratio"), "7.2f", 7),
                 cell(median_of(same, "counted_bytes_ratio"), "7.2f", 7)]
        print(f"{op:10} {' '.join(cells)}  {shape}, {implementation}")


def bar(name, ratios, least):
    """One line a bar; true where it holds or nothing was measured."""
    if not ratios:
        print(f"  missing  {name}: nothing that large was measured")
        return True
    lowest, which = min(ratios)
    holds = lowest >= least
    print(f"  {'ok' if holds else 'short':8} {name}: lowest {lowest:.2f} of {len(ratios)}, bar {least:.2f} ({which})")
    return holds


def product_ratios(kernels, ceilings):
    return [(number(k, "flops_per_s") / ceilings.product(k), f"{k['shape']} {k.get('dtype', '')}") for k in kernels
            if k["op"] == "matmul" and k["kernel_impl"].startswith("cublaslt") and ceilings.product(k)
            and number(k, "flops_per_s") and (number(k, "flops") or 0) >= LARGE_PRODUCT_FLOPS]


def memory_ratios(kernels, ceilings):
    copy, cache = ceilings.rates.get("DRAM"), ceilings.l2_bytes
    if not copy or not cache:
        return []
    return [(number(k, "bytes_per_s") / copy, f"{k['op']} {k['shape']}") for k in kernels
            if k["op"] in MEMORY_OPS and number(k, "bytes_per_s")
            and (number(k, "working_set_bytes") or 0) >= BEYOND_CACHE * cache]


def print_attention_ratios(own_folder, library_folder):
    """Time of cuDNN's attention over that of the own kernel, on the same launches."""
    def times(folder):
        return {(k["id"], k["scope"]): k for k in rows(folder, "kernels.csv")
                if k["op"] == "attention" and number(k, "time_median_s")}
    own, library = times(own_folder), times(library_folder)
    print("\nfused attention: cuDNN's time over our own, above 1 where ours is faster")
    for key in sorted(own.keys() & library.keys()):
        if library[key]["kernel_impl"].startswith("cudnn"):
            ratio = number(library[key], "time_median_s") / number(own[key], "time_median_s")
            print(f"  {ratio:5.2f}  {key[0]}")
        else:
            print(f"      -  {key[0]}: {library[key]['kernel_impl']}")
    if not own.keys() & library.keys():
        print("  missing: no launch was timed in both")


def main():
    folder = sys.argv[1]
    paths = {name: os.path.join(folder, name)
             for name in ("variants", "tf32", "layouts", "counted", "attention", "decode", "cudnn", "record")}
    ceilings = Ceilings(os.path.join(folder, "ceilings.json"))
    failed = print_statuses(list(paths.values()))
    for name in ("attention", "decode", "counted"):
        print_kernels(paths[name], ceilings)
    print_attention_ratios(paths["attention"], paths["cudnn"])
    kernels = kernels_of(paths["attention"]) + kernels_of(paths["decode"])
    print("\nbars")
    held = [bar("products against cuBLASLt alone, 8192 cubed", product_ratios(kernels, ceilings), PRODUCT_BAR),
            bar("memory-bound kernels beyond the caches against the copy", memory_ratios(kernels, ceilings),
                MEMORY_BAR)]
    print(f"  {'ok' if not failed else 'short':8} rows that are neither incorrect nor failed: {failed} are")
    sys.exit(0 if all(held) and not failed else 1)


main()

"""The arithmetic and the text of the comparison table. Pure functions; no I/O."""

import statistics

OURS = "kantha"
HIGHER, LOWER = "higher", "lower"


def median(values):
    """The median of the known values; None without any."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def times_better(ours, theirs, better):
    """How many times better ours is: 2 is twice as fast or half as long. None if unknown."""
    if ours is None or theirs is None or ours <= 0 or theirs <= 0:
        return None
    return ours / theirs if better == HIGHER else theirs / ours


def best_peer(figures, names, better):
    """The name with the best median among `names`, or None."""
    medians = {name: median(figures[name]) for name in names if name in figures}
    known = {name: value for name, value in medians.items() if value is not None}
    if not known:
        return None
    return (max if better == HIGHER else min)(known, key=known.get)


def ratio_against(figures, peer, better):
    """{ratio, lowest, highest, rounds}: of the medians, and over the single rounds; or None."""
    ratio = times_better(median(figures.get(OURS, [])), median(figures[peer]), better)
    if ratio is None:
        return None
    rounds = [times_better(ours, theirs, better)
              for ours, theirs in zip(figures[OURS], figures[peer])]
    rounds = [value for value in rounds if value is not None]
    return {"ratio": ratio, "lowest": min(rounds, default=ratio),
            "highest": max(rounds, default=ratio), "rounds": len(rounds)}


def verdict(value, limit, aim, better):
    """Against "at least" and "aim": "aim met", "met", or by how much it is short."""
    if value is None:
        return "no figure"
    reaches = (lambda bound: value >= bound) if better == HIGHER else (lambda bound: value <= bound)
    if reaches(aim):
        return "aim met"
    if reaches(limit):
        return "met"
    short = 1 - value / limit if better == HIGHER else value / limit - 1
    return f"short by {short * 100:.0f} %" if better == HIGHER else f"over by {short * 100:.0f} %"


def judge_ratio(row, figures, candidates):
    """A row that compares: our figure against the best of `candidates`."""
    peer = best_peer(figures, candidates, row.better)
    ratio = ratio_against(figures, peer, row.better) if peer else None
    return {"against": peer, **(ratio or {"ratio": None, "lowest": None, "highest": None,
                                          "rounds": 0}),
            "limit": row.limit, "aim": row.aim,
            "verdict": verdict(ratio and ratio["ratio"], row.limit, row.aim, HIGHER)}


def judge_value(row, values):
    """A row that stands alone: the median of our own figure against a bound."""
    known = [value for value in values if value is not None]
    middle = median(known)
    return {"against": None, "ratio": middle, "lowest": min(known, default=None),
            "highest": max(known, default=None), "rounds": len(known), "limit": row.limit,
            "aim": row.aim, "verdict": verdict(middle, row.limit, row.aim, row.better)}


def number(value):
    """Three or four digits, as one reads them; "–" if unknown."""
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def aligned(lines):
    """Lines of cells as text; the first column to the left, the others to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
                     for line in lines)


def bound_text(result, what):
    sign = "×" if result["is_ratio"] else ""
    order = "≤" if not result["is_ratio"] and result["better"] == LOWER else "≥"
    return f"{order} {number(result[what])}{sign}"


def table(results, servers):
    """The whole table. `results`: dicts as main.py writes them; `servers`: names of the columns."""
    lines = [["what", *servers, "against", "ratio or value", "lowest–highest", "at least", "aim",
              "verdict"]]
    for result in results:
        sign = "×" if result["is_ratio"] else ""
        spread = "–"
        if result["lowest"] is not None:
            spread = f"{number(result['lowest'])}–{number(result['highest'])}"
        lines.append([
            f"{result['title']} ({result['unit']})" if result["unit"] else result["title"],
            *(number(median(result["figures"].get(name, []))) for name in servers),
            result["against"] or "–",
            number(result["ratio"]) + (sign if result["ratio"] is not None else ""), spread,
            bound_text(result, "limit"), bound_text(result, "aim"), result["verdict"]])
    return aligned(lines)

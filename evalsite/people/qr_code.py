"""A QR code as the path of an SVG, so that a page needs no inline style and no script."""

import segno

# quiet modules around the code, as the standard asks (ISO/IEC 18004)
_BORDER = 4


def draw_qr_code(text: str) -> dict[str, object]:
    """Return the size in modules and the path of the dark ones, for an SVG."""
    code = segno.make_qr(text, error="m")
    rows = list(code.matrix_iter(border=_BORDER))
    dark = [(x, y) for y, row in enumerate(rows) for x, is_dark in enumerate(row) if is_dark]
    path = "".join(f"M{x} {y}h1v1h-1z" for x, y in dark)
    return {"size": len(rows), "path": path}

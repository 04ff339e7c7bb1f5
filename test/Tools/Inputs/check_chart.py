"""Usage: check_chart.py FILE.svg CURVES WORD...

The file is well-formed SVG with two panels of CURVES unbroken lines each, all of
them inside the drawing, and a legend that has every WORD.
"""
import sys
import xml.etree.ElementTree as tree

path, curves, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
root = tree.parse(path).getroot()
svg = "{http://www.w3.org/2000/svg}"
assert root.tag == svg + "svg", root.tag
width, height = float(root.get("width")), float(root.get("height"))
lines = root.findall(svg + "polyline")
assert len(lines) == 2 * curves, f"{len(lines)} lines, wanted 2 x {curves}"
for line in lines:
    points = [tuple(map(float, p.split(","))) for p in line.get("points").split()]
    assert all(0 < x < width and 0 < y < height for x, y in points), points
    assert all(a[0] < b[0] for a, b in zip(points, points[1:])), points
texts = [text.text for text in root.findall(svg + "text")]
for word in words:
    assert any(word in text for text in texts), f"'{word}' is not among {texts}"

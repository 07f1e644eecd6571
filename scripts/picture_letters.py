#!/usr/bin/env python3
"""Writes src/timeline/picture/letters.bin: the letters of PNG pictures, as large pixels with 16 shades each.

    scripts/picture_letters.py [FOLDER]

FOLDER has DejaVuSansCondensed.ttf and DejaVuSansCondensed-Bold.ttf [/usr/share/fonts/truetype/dejavu]. Needs Pillow. The
licence of the font lies beside the output (letters.LICENSE).

The file is deflated (zlib). Inside: for the book and then the bold letters the number of letters (u16), and for each letter
its code point (u32), how far it moves the pen (u8), and the box of its pixels: left edge from the pen plus 32 (u8), top edge
(u8, 0 is BASELINE pixels above the base line), width (u8), height (u8); then the shades of all boxes, row by row, two in a
byte, the first in the high bits. All numbers are little endian.
"""
import pathlib
import struct
import sys
import zlib

from PIL import Image, ImageDraw, ImageFont

OUT = pathlib.Path(__file__).resolve().parent.parent / "src/timeline/picture/letters.bin"
# At 11 pixels small letters of this font are 6.02 and capitals 8.02 high: sharp without hinting. 66 is 6 times that.
EM = 66
BASELINE = 72
LETTERS = [*range(0x20, 0x7F), *range(0xA0, 0x180), *range(0x391, 0x3CA), *range(0x410, 0x450), *map(ord, "–—‘’“”•…‰′″€→←↑↓−∞≈≠≤≥∑√□")]


def letters(path):
    """The head and the shades of one face."""
    font = ImageFont.truetype(str(path), EM, layout_engine=ImageFont.Layout.BASIC)
    head, shades = [], []
    for code in LETTERS:
        image = Image.new("L", (4 * EM, 2 * EM))
        ImageDraw.Draw(image).text((EM, BASELINE), chr(code), fill=255, font=font, anchor="ls")
        left, top, right, bottom = image.point(lambda value: 255 if value >= 9 else 0).getbbox() or (EM, 0, EM, 0)
        head.append(struct.pack("<IBBBBB", code, round(font.getlength(chr(code))), left - EM + 32, top, right - left, bottom - top))
        shades += [(value * 15 + 127) // 255 for value in image.crop((left, top, right, bottom)).tobytes()]
    return head, shades


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/fonts/truetype/dejavu")
    head, shades = b"", []
    for name in ("DejaVuSansCondensed.ttf", "DejaVuSansCondensed-Bold.ttf"):
        of_face = letters(folder / name)
        head += struct.pack("<H", len(of_face[0])) + b"".join(of_face[0])
        shades += of_face[1]
    shades += [0] * (len(shades) % 2)
    pixels = bytes(a << 4 | b for a, b in zip(shades[::2], shades[1::2]))
    OUT.write_bytes(zlib.compress(head + pixels, 9))
    print(f"{OUT.name}: {OUT.stat().st_size} bytes, {2 * len(LETTERS)} letters")


main()

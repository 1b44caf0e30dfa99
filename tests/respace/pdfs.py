"""Small PDFs for tests, written by hand: pages of lines, and one that no extractor finishes."""

from __future__ import annotations

from collections.abc import Sequence


def make_pdf(lines: Sequence[str], *, objects_after: Sequence[bytes] = (), trailer: bytes = b"") -> bytes:
    """A PDF of one page with these lines (ASCII); an empty one leaves a gap between paragraphs."""
    moves = b"".join(b"(" + _escaped(line) + b") Tj 0 -14 Td " for line in lines)
    return build([_stream(b"BT /F1 10 Tf 50 750 Td " + moves + b"ET"), *objects_after], trailer=trailer)


def make_endless_pdf() -> bytes:
    """Forms that draw each other ten times over, eight deep: a hundred million lines of text in a few kilobytes."""
    depth = 8
    forms = []
    for level in range(depth):
        last = level == depth - 1
        content = b"BT /F1 1 Tf (x) Tj ET " * 10 if last else b"/X Do " * 10
        resources = b"/Font << /F1 3 0 R >>" + (b"" if last else b" /XObject << /X %d 0 R >>" % (6 + level))
        forms.append(
            _stream(content, b"/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << %s >>" % resources)
        )
    return build([_stream(b"/X Do"), *forms], page_resources=b"/XObject << /X 5 0 R >>")


def make_encrypted_pdf() -> bytes:
    """A PDF that says it is encrypted with a password that no one knows."""
    key = b"<" + b"ab" * 32 + b">"
    encrypt = b"<< /Filter /Standard /V 1 /R 2 /O %s /U %s /P -44 >>" % (key, key)
    identifier = b"/Encrypt 5 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]"
    return make_pdf(["secret"], objects_after=[encrypt], trailer=identifier)


def build(objects: Sequence[bytes], *, page_resources: bytes = b"", trailer: bytes = b"") -> bytes:
    """A PDF whose fourth object is the page's content; object 3 is the font."""
    resources = b"/Resources << /Font << /F1 3 0 R >> %s >>" % page_resources
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R %s >>" % resources
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    last = 4 + len(objects)
    everything = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % last,
        font,
        *objects,
        page,
    ]
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, content in enumerate(everything, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(everything) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(everything) + 1, trailer, start)
    return bytes(out)


def _stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def _escaped(line: str) -> bytes:
    return line.encode("ascii").replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")

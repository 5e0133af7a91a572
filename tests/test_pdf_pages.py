"""PDF files: their text counts, not their bytes."""

import pytest

pytest.importorskip("pypdf")

from halflife.core.observation import Content
from halflife.readers import page_text
from halflife.readers.page_text import PageReading
from halflife.readers.part_rules import PartRules
from halflife.readers.text_blocks import joined


def pdf(*lines, made="20240101"):
    """Return a PDF of one page with these lines."""
    shown = " ".join(f"({line}) Tj 0 -20 Td" for line in lines)
    text = f"BT /F1 12 Tf 72 720 Td {shown} ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
            b"/Resources << /Font << /F1 5 0 R >> >> >>"
        ),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /CreationDate (D:%s) >>" % made.encode(),
    ]
    body, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R "
        b"/Info 6 0 R >>\nstartxref\n%d\n%%%%EOF"
        % (len(objects) + 1, table, len(objects) + 1, len(body))
    )


def digest_of(body, *ignore, mode="visible"):
    reading = PageReading(mode, PartRules.of((), ignore))
    return reading.digest(Content("application/pdf", body), "raw")


def test_the_text_of_a_pdf_counts_and_its_dates_do_not():
    one = pdf("Prices of tea", "Three coins")
    later = pdf("Prices of tea", "Three coins", made="20250101")
    edited = pdf("Prices of tea", "Four coins")
    assert one != later
    assert digest_of(one) == digest_of(later) != digest_of(edited)
    blocks = PageReading().blocks(Content("application/pdf", one))
    assert joined(blocks) == "Prices of tea\nThree coins"
    assert digest_of(one, mode="raw") == "raw"


def test_rules_apply_to_the_lines_of_a_pdf():
    one, other = pdf("Prices", "Printed today"), pdf("Prices", "Printed now")
    assert digest_of(one, "re:^Printed.*") == digest_of(other, "re:^Printed.*")


@pytest.mark.parametrize(
    "body", [b"%PDF-1.4", b"%PDF-" + b"x" * 5000, pdf()[:300], pdf()]
)
def test_of_a_pdf_without_readable_text_every_byte_counts(body):
    assert digest_of(body) == "raw"


def test_without_the_extra_every_byte_of_a_pdf_counts(monkeypatch):
    monkeypatch.setattr(page_text, "reads_pdf", lambda: False)
    assert digest_of(pdf("a")) == "raw"
    assert PageReading().name == "visible"

# SPDX-License-Identifier: Apache-2.0
"""Pictures: what is there is drawn, once and where it lies, as SVG that any viewer reads."""
import xml.etree.ElementTree as xml

import plat
import pytest

plat.check()  # the recorder comes before acl

PAGE = 2 * plat.MIB
NAME = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def device():
    with plat.Device(0) as made:
        yield made


def boxes(picture, words):
    """Rectangles whose words have these in them."""
    svg = xml.fromstring(picture.svg)
    assert svg.tag == NAME + "svg"
    return [box for box in svg.iter(NAME + "rect") if any(words in (title.text or "") for title in box.iter(NAME + "title"))]


def span(box):
    left = float(box.get("x"))
    return left, left + float(box.get("width"))


def test_a_reservation_and_its_mappings(device):
    with device.reserve(4 * PAGE) as addresses, device.allocate(PAGE) as memory, device.allocate(PAGE) as other:
        kept = [addresses.map(memory, 0), addresses.map(other, 2 * PAGE)]
        picture = plat.draw(addresses)
        assert "8 MiB" in picture.svg and "4 MiB mapped" in picture.svg
        whole, = boxes(picture, "reserved, without memory")
        first, second = boxes(picture, "mapped at offset")
        left, right = span(whole)
        quarter = (right - left) / 4
        assert span(first) == pytest.approx((left, left + quarter), abs=1)
        assert span(second) == pytest.approx((left + 2 * quarter, left + 3 * quarter), abs=1)
        assert addresses._repr_svg_() == picture._repr_svg_() == picture.svg
    assert all(mapping.closed for mapping in kept) and "closed" in plat.draw(addresses).svg


def test_a_pool_and_its_blocks(device):
    with plat.Pool(device) as pool:
        assert not boxes(plat.draw(pool), "block of")
        blocks = [pool.allocate(size) for size in (1000, 2000, 3000)]
        blocks[1].close()
        drawn = boxes(plat.draw(pool), "block of")
        assert len(drawn) == 2 and hex(blocks[2].address) in drawn[1][0].text
        assert "2 blocks" in pool._repr_svg_()
    assert "closed" in plat.draw(pool).svg


def test_a_recording(device, tmp_path):
    with plat.record(tmp_path / "run.trace") as recording:
        with device.allocate(PAGE):
            with device.allocate(2 * PAGE):
                pass
        left = device.allocate(PAGE)
    left.close()
    assert recording.peak_bytes == 3 * PAGE and recording.events == 5
    assert [held for _, held in recording.timeline][-5:] == [PAGE, 3 * PAGE, PAGE, 0, PAGE]
    assert [finding.rule for finding in recording.findings] == ["INSP-Leak-physical"]
    short, longer = (next(life for life in recording.lives if life.size == size) for size in (2 * PAGE, PAGE))
    assert longer.born < short.born < short.died < longer.died and short.stack[0].function == "test_a_recording"
    assert recording.lives[-1].died is None
    svg = recording._repr_svg_()
    assert len(boxes(plat.draw(recording), "physical handle")) == 3 and "1 error," in svg
    assert len(boxes(plat.draw(recording), "lives on")) == 1

    kept = plat.Recording.open(tmp_path / "run.trace")
    assert [life for life in kept.lives if life.born >= recording.lives[0].born] == recording.lives


def test_a_recording_of_nothing():
    with plat.record() as recording:
        pass
    assert recording.lives == [] and recording.peak_bytes == 0 and "0 calls" in plat.draw(recording).svg


def test_several_things_on_one_sheet_and_in_a_file(device, tmp_path):
    with device.reserve(PAGE) as first, device.reserve(2 * PAGE) as second:
        picture = plat.draw(first, second)
        assert len(boxes(picture, "reserved, without memory")) == 2
        picture.save(tmp_path / "picture.svg")
    assert xml.parse(tmp_path / "picture.svg").getroot().tag == NAME + "svg"


def test_what_cannot_be_drawn_is_refused(device):
    with pytest.raises(TypeError, match="Device cannot be drawn"):
        plat.draw(device)
    with pytest.raises(TypeError, match="draw what"):
        plat.draw()


def test_a_trace_that_is_none_is_refused(tmp_path):
    (tmp_path / "text").write_text("no trace")
    for name in "text", "missing":
        with pytest.raises(plat.InspectorError, match=name):
            plat.Recording.open(tmp_path / name)

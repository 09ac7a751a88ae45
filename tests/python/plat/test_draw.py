# SPDX-License-Identifier: Apache-2.0
"""Pictures: what is there is drawn, once and where it lies, as SVG that any viewer reads."""
import pickle
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
    with plat.Pool(device, name="mine") as pool:
        assert not boxes(plat.draw(pool), "block of")
        blocks = [pool.allocate(size) for size in (1000, 2000, 3000)]
        blocks[1].close()
        drawn = boxes(plat.draw(pool), "block of")
        assert len(drawn) == 2 and hex(blocks[2].address) in drawn[1][0].text
        assert "2 blocks" in pool._repr_svg_() and "'mine'" in pool._repr_svg_()
    assert "closed" in plat.draw(pool).svg


def test_a_pool_is_drawn_by_what_it_holds(device):
    """Its parts lie gigabytes apart, and the host's memory terabytes."""
    with plat.Pool(device) as pool, pool.kv_cache(plat.KIB, 4096) as cache, pool.arena() as arena, pool.with_statistics() as around:
        cache.set_tokens(4096)
        kept = [pool.allocate(4 * plat.MIB), pool.allocate(8 * plat.MIB, tag=3), pool.allocate(plat.MIB, purpose="host"),
                arena.allocate(plat.MIB), around.allocate(2 * plat.MIB)]
        picture = plat.draw(pool)
        widths = {}
        for words in "4 MiB at", "8 MiB at", "1 MiB at", "KV cache", "2 MiB at":
            for box in boxes(picture, words):
                left, right = span(box)
                assert 8 <= left < right <= 752, words
                widths[words] = right - left
        assert len(widths) == 5 and min(widths.values()) > 10
        assert widths["8 MiB at"] == pytest.approx(2 * widths["4 MiB at"], abs=1)  # sizes are true to each other
        legend = [text.text for text in xml.fromstring(picture.svg).iter(NAME + "text")]
        assert {"tag 3", "host", "arena", "KV cache", "compute"} <= set(legend)
        assert plat.draw(around).svg.count("block of 2 MiB") == 1
        assert len(kept) == 5


def test_many_blocks_make_a_picture_that_can_be_looked_at(device):
    with plat.Pool(device) as pool:
        kept = pool.allocate_batch([64] * 5000)
        picture = plat.draw(pool)
        assert len(picture.svg) < 500_000 and len(kept) == 5000
        assert sum(int(box[0].text.split()[0]) for box in boxes(picture, "blocks of")) + len(boxes(picture, "block of")) == 5000


def test_a_block_in_its_pool(device):
    with plat.Pool(device) as pool:
        kept = [pool.allocate(plat.MIB), pool.empty((16, 1024), "f4"), pool.allocate(plat.MIB)]
        svg = kept[1]._repr_svg_()
        assert "array of 16x1024 float32" in svg and "here" in svg and svg.count("block of") == 3
        marked = [box for box in xml.fromstring(svg).iter(NAME + "rect") if box.get("stroke") == "#24292f"]
        assert len(marked) == 1 and hex(kept[1].address) in marked[0][0].text
    assert "closed" in kept[1]._repr_svg_()


def test_a_device_and_who_holds_it(device):
    with device.allocate(8 * PAGE), plat.Pool(device, initial_bytes=4 * PAGE):
        svg = device._repr_svg_()
        assert len(boxes(plat.draw(device), "physical memory: 16 MiB")) == 1 and "pools: 10 MiB" in svg and "others: 0 bytes" in svg
    with plat.Device(1) as other:
        pass
    assert "closed" in other._repr_svg_()


def test_findings_as_html(device):
    with plat.check() as check:
        left = device.allocate(PAGE)
    left.close()
    html = check._repr_html_()
    finding = check.findings[0]
    assert finding._repr_html_() in html and "1 error" in html and "INSP-Leak-physical" in html and "test_draw.py" in html
    xml.fromstring(html.replace("<br>", "<br/>"))
    strange = plat.Finding("R<1>", "error", "a & b", "", "", "<hint>", 2, 0, 0, 0, None, (), "")
    shown = strange._repr_html_()
    assert "R&lt;1&gt;" in shown and "a &amp; b" in shown and "&lt;hint&gt;" in shown and "2 times" in shown


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
    assert svg in recording._repr_html_() and "INSP-Leak-physical" in recording._repr_html_()
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
    with device.stream() as stream, pytest.raises(TypeError, match="Stream cannot be drawn"):
        plat.draw(stream)
    with pytest.raises(TypeError, match="draw what"):
        plat.draw()


def test_a_trace_that_is_none_is_refused(tmp_path):
    (tmp_path / "text").write_text("no trace")
    for name in "text", "missing":
        with pytest.raises(plat.InspectorError, match=name):
            plat.Recording.open(tmp_path / name)


def test_a_recording_as_files_that_other_tools_open(device, tmp_path):
    with plat.record(tmp_path / "run.trace") as recording:
        left = device.allocate(2 * PAGE)
        with pytest.raises(plat.InspectorError, match="nothing is recorded yet"):
            recording.to_snapshot(tmp_path / "early.pickle")
    left.close()
    recording.to_snapshot(tmp_path / "run.pickle")
    snapshot = pickle.loads((tmp_path / "run.pickle").read_bytes())
    entries = [entry for trace in snapshot["device_traces"] for entry in trace if entry["action"] == "alloc"]
    assert entries[-1]["size"] == 2 * PAGE
    assert any(block["size"] == 2 * PAGE for segment in snapshot["segments"] for block in segment["blocks"]), "it was kept before the close"
    plat.Recording.open(tmp_path / "run.trace").to_perfetto(tmp_path / "run.pftrace")
    assert b"physical handle" in (tmp_path / "run.pftrace").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.pftrace", "run.pickle", "run.trace"]
    with pytest.raises(FileNotFoundError):
        recording.to_snapshot(tmp_path / "missing" / "run.pickle")
    (tmp_path / "run.trace").write_bytes(b"no trace")
    with pytest.raises(plat.InspectorError, match="run.trace"):
        recording.to_snapshot(tmp_path / "run.pickle")
    assert pickle.loads((tmp_path / "run.pickle").read_bytes()) == snapshot, "a refusal leaves the file alone"

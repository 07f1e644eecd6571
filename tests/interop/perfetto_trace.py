"""Checks a Perfetto trace with the descriptors that Perfetto publishes (Python package `perfetto`).

    perfetto_trace.py TRACE EXPECTED

EXPECTED is a JSON object: category -> [slices, sum of their durations in ns]. Prints one line of JSON with what was
found; exits with 1 and a sentence at the first thing that is wrong. With a trace_processor within reach the trace is
queried as well.
"""

import collections
import json
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb


def fail(sentence):
    print(sentence)
    sys.exit(1)


def unknown(message, path=""):
    """Names a field of the message that the descriptors do not know."""
    import google.protobuf.unknown_fields as u

    for field in u.UnknownFieldSet(message):
        # `compute_kernels` of `GpuInternedData` extends the message; the package has no descriptors of extensions.
        if (message.DESCRIPTOR.name, field.field_number) != ("InternedData", 1000):
            return f"{path or message.DESCRIPTOR.name}: {field.field_number}"
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            repeated = isinstance(value, collections.abc.Sequence)
            for part in value if repeated else [value]:
                if found := unknown(part, f"{path}.{field.name}"):
                    return found
    return None


def main():
    path, expected = sys.argv[1], json.loads(sys.argv[2])
    trace = pb.Trace()
    trace.ParseFromString(open(path, "rb").read())
    names, categories, arguments = {}, {}, {}
    tracks = {}
    open_slices = collections.defaultdict(list)
    found, total = collections.Counter(), collections.Counter()
    flows = collections.Counter()
    counters = collections.defaultdict(list)
    work = collections.defaultdict(list)
    # Functions of CPU samples come behind everything else, thread by thread; all else is in one order.
    last_ns = collections.Counter()
    stages, waits = set(), []
    stage_count = 0
    moments = 0
    if not trace.packet[0].first_packet_on_sequence or trace.packet[0].sequence_flags != 3:
        fail("the first packet does not begin a sequence")

    def root(uuid):
        while tracks[uuid].HasField("parent_uuid"):
            uuid = tracks[uuid].parent_uuid
        return uuid

    for packet in trace.packet:
        if field := unknown(packet):
            fail(f"{field} is no field that Perfetto knows")
        if packet.trusted_packet_sequence_id != trace.packet[0].trusted_packet_sequence_id:
            fail("packets are of several sequences")
        for table, entries in (
            (categories, packet.interned_data.event_categories),
            (names, packet.interned_data.event_names),
            (arguments, packet.interned_data.debug_annotation_names),
        ):
            for entry in entries:
                if entry.iid == 0 or entry.iid in table:
                    fail(f"number {entry.iid} is given twice")
                table[entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.uuid in tracks or (track.HasField("parent_uuid") and track.parent_uuid not in tracks):
                fail(f"track {track.uuid} is there twice, or before its parent")
            tracks[track.uuid] = track
        if packet.HasField("gpu_render_stage_event"):
            stage = packet.gpu_render_stage_event
            stages.add(stage.event_id)
            stage_count += 1
            waits += [[stage.event_id, awaited] for awaited in stage.event_wait_ids]
        if not packet.HasField("track_event"):
            continue
        event, now = packet.track_event, packet.timestamp
        if event.track_uuid not in tracks:
            fail(f"an event is on track {event.track_uuid}, which is not described")
        for annotation in event.debug_annotations:
            if not annotation.name and annotation.name_iid not in arguments:
                fail(f"argument {annotation.name_iid} has no name")
        if event.type in (event.TYPE_SLICE_BEGIN, event.TYPE_INSTANT):
            if event.name_iid not in names or len(event.category_iids) != 1:
                fail("an event has no name or no category")
        if event.type == event.TYPE_INSTANT:
            moments += 1
            continue
        is_sampled = tracks[event.track_uuid].name.endswith("(CPU samples)")
        clock = event.track_uuid if is_sampled else None
        if now < last_ns[clock]:
            fail(f"time runs backwards at {now}")
        last_ns[clock] = now
        if event.type == event.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid].append((now, categories[event.category_iids[0]]))
            flows.update(event.flow_ids)
        elif event.type == event.TYPE_SLICE_END:
            if not open_slices[event.track_uuid]:
                fail(f"nothing is open on track {event.track_uuid} that could end")
            start, category = open_slices[event.track_uuid].pop()
            if now <= start:
                fail("a slice has no length")
            found[category] += 1
            total[category] += now - start
            if category in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_graph"):
                work[root(event.track_uuid)].append((start, now))
        elif event.type == event.TYPE_COUNTER:
            value = event.double_counter_value if event.HasField("double_counter_value") else event.counter_value
            counters[event.track_uuid].append((now, value))
    still_open = sum(len(slices) for slices in open_slices.values())
    for category, (count, duration) in expected.items():
        if (found[category], total[category]) != (count, duration):
            fail(f"{category}: {found[category]} slices of {total[category]} ns, not {count} of {duration}")
    if any(count != 2 for count in flows.values()):
        fail("an arrow has not two ends")
    if any(awaited not in stages or awaited == waiting for waiting, awaited in waits):
        fail("a stage waits for one that is not there")
    for uuid, points in counters.items():
        name = tracks[uuid].name
        if not tracks[uuid].HasField("counter"):
            fail(f"{name} is no counter")
        if name.startswith("copies") and points[-1][1] != 0:
            fail(f"{name} ends with {points[-1][1]}")
        if name == "busy":
            busy = sum(b - a for (a, value), (b, _) in zip(points, points[1:]) if value)
            end = union = 0
            for start, stop in sorted(work[tracks[uuid].parent_uuid]):
                union += max(0, stop - max(start, end))
                end = max(end, stop)
            if busy != union:
                fail(f"busy for {busy} ns, and work for {union} ns")
    print(json.dumps({
        "packets": len(trace.packet), "tracks": len(tracks), "slices": found, "moments": moments,
        "still_open": still_open, "arrows": len(flows), "counters": len(counters), "stages": stage_count, "waits": sorted(waits),
    }))


main()

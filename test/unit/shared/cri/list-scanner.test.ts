import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { Container, ListContainersResponse, ListPodSandboxResponse, PodSandbox } from '../../../../src/shared/cri/generated/cri-v1.ts';
import { containerList, ListScanError, sandboxList, scanList, type ListLayout } from '../../../../src/shared/cri/list-scanner.ts';
import { table } from '../../../support/table.ts';

interface Scanned {
  readonly id: string;
  readonly sandboxId: string;
  readonly state: number;
  readonly item: Uint8Array;
}

function scan(layout: ListLayout, bytes: Uint8Array): Scanned[] {
  const items: Scanned[] = [];
  scanList(layout, bytes, {
    item: (list, idStart, idEnd, sandboxIdStart, sandboxIdEnd, state, start, end) => {
      const text = (from: number, to: number) => Buffer.from(list.subarray(from, to)).toString();
      items.push({ id: text(idStart, idEnd), sandboxId: text(sandboxIdStart, sandboxIdEnd), state, item: list.subarray(start, end) });
    },
  });
  return items;
}

const summary = (items: Scanned[]) => items.map(({ id, sandboxId, state }) => ({ id, sandboxId, state }));

/** A deterministic random number generator (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

suite('scanning a list of the runtime', () => {
  test('an empty reply has no items', () => {
    assert.deepEqual(scan(sandboxList, new Uint8Array()), []);
  });

  test('finds id, state and bytes of each sandbox', () => {
    const items = [
      { id: 'a'.repeat(64), metadata: { name: 'web', uid: 'u1', namespace: 'default', attempt: 1 }, createdAt: 12n, labels: { a: 'b' } },
      { id: 'b', state: 1 as const, annotations: { c: 'd' }, runtimeHandler: 'runc' },
    ].map((item) => PodSandbox.fromPartial(item));
    const scanned = scan(sandboxList, ListPodSandboxResponse.encode({ items }).finish());
    assert.deepEqual(summary(scanned), [
      { id: 'a'.repeat(64), sandboxId: '', state: 0 },
      { id: 'b', sandboxId: '', state: 1 },
    ]);
    assert.deepEqual(
      scanned.map(({ item }) => PodSandbox.decode(item)),
      items,
    );
  });

  test('finds id, sandbox, state and bytes of each container', () => {
    const container = {
      id: 'c',
      podSandboxId: 's',
      state: 2 as const,
      image: { image: 'busybox' },
      imageRef: 'sha256:1',
      createdAt: 1n << 60n,
    };
    const containers = [container, {}].map((item) => Container.fromPartial(item));
    const scanned = scan(containerList, ListContainersResponse.encode({ containers }).finish());
    assert.deepEqual(summary(scanned), [
      { id: 'c', sandboxId: 's', state: 2 },
      { id: '', sandboxId: '', state: 0 },
    ]);
    assert.deepEqual(
      scanned.map(({ item }) => Container.decode(item)),
      containers,
    );
  });

  test('an invalid state is reported as its number', () => {
    const item = new BinaryWriter().uint32(48).int32(-5).finish();
    assert.equal(scan(containerList, new BinaryWriter().uint32(10).bytes(item).finish())[0]?.state, -5);
  });

  test('agrees with the decoder on reordered, repeated and unknown fields and on groups', () => {
    const next = numbers(1);
    for (let round = 0; round < 100; round += 1) {
      const list = new BinaryWriter();
      for (let count = Math.floor(next() * 5); count > 0; count -= 1) {
        if (next() < 0.3) writeUnknown(list, next);
        list.uint32(10).bytes(randomItem(next));
      }
      const bytes = list.finish();
      assert.deepEqual(
        summary(scan(containerList, bytes)),
        ListContainersResponse.decode(bytes).containers.map(({ id, podSandboxId, state }) => ({ id, sandboxId: podSandboxId, state })),
      );
    }
  });

  test('a truncated or corrupted reply is either scanned or rejected with its name, without reads past its end', () => {
    const next = numbers(2);
    let refused = 0;
    for (let round = 0; round < 250; round += 1) {
      const bytes = new BinaryWriter().uint32(10).bytes(randomItem(next)).uint32(10).bytes(randomItem(next)).finish();
      const hostile = bytes.slice(0, Math.floor(next() * (bytes.length + 1)));
      if (hostile.length > 0 && next() < 0.7) hostile[Math.floor(next() * hostile.length)] = Math.floor(next() * 256);
      try {
        for (const { item } of scan(containerList, hostile))
          assert.ok(item.byteOffset + item.length <= hostile.byteOffset + hostile.length);
      } catch (err) {
        assert.ok(err instanceof ListScanError, String(err));
        refused += 1;
      }
    }
    assert.ok(refused > 25, `only ${refused} of 250 were refused`);
  });

  const refusals: { name: string; bytes: number[]; want: RegExp }[] = [
    {
      name: 'an item longer than the reply',
      bytes: [10, 5, 1],
      want: /ListContainers: malformed reply at byte 1: 5 bytes announced, 1 left/,
    },
    { name: 'a length above 2 GiB', bytes: [10, 0xff, 0xff, 0xff, 0xff, 0x0f], want: /4294967295 bytes announced/ },
    { name: 'an id longer than its item', bytes: [10, 3, 10, 9, 65], want: /at byte 3: 9 bytes announced, 1 left/ },
    { name: 'an endless number', bytes: [8, ...Array.from({ length: 11 }, () => 0xff)], want: /longer than 10 bytes/ },
    { name: 'a truncated number', bytes: [8, 0x80], want: /ends within a number/ },
    { name: 'field number 0', bytes: [2, 0], want: /field number 0/ },
    { name: 'an unknown wire type', bytes: [15], want: /wire type 7/ },
    { name: 'a group that is never closed', bytes: [27, 8, 1], want: /ends within a number/ },
    { name: 'a group closed by another', bytes: [27, 36], want: /wire type 4/ },
    { name: 'endlessly nested groups', bytes: Array.from({ length: 500 }, () => 27), want: /nested too deep/ },
    { name: 'a truncated fixed-width field', bytes: [25, 1, 2], want: /ends within a field/ },
  ];
  table('rejects malformed lists', (row) => {
    for (const { name, bytes, want } of refusals) {
      row(`rejects ${name}`, () => assert.throws(() => scan(containerList, Uint8Array.from(bytes)), want));
    }
  });
});

/** Encodes a container with fields in random order, some of them repeated and some unknown to the schema. */
function randomItem(next: () => number): Uint8Array {
  const writer = new BinaryWriter();
  const text = () => Buffer.alloc(Math.floor(next() * 70), 'x').toString();
  const fields: (() => void)[] = [
    () => writer.uint32(10).string(text()),
    () => writer.uint32(18).string(text()),
    () => writer.uint32(48).int32(Math.floor(next() * 4)),
    () => writer.uint32(56).int64(BigInt(Math.floor(next() * 2 ** 50))),
    () => writer.uint32(26).bytes(new BinaryWriter().uint32(10).string(text()).finish()),
    () => writeUnknown(writer, next),
  ];
  for (let count = Math.floor(next() * 10); count > 0; count -= 1) fields[Math.floor(next() * fields.length)]!();
  return writer.finish();
}

function writeUnknown(writer: BinaryWriter, next: () => number): void {
  const field = 100 + Math.floor(next() * 5000);
  const fields = [
    () => writer.uint32(field << 3).uint64(BigInt(Math.floor(next() * 2 ** 52))),
    () => writer.uint32((field << 3) | 1).fixed64(1),
    () => writer.uint32((field << 3) | 2).bytes(Buffer.alloc(Math.floor(next() * 300))),
    () =>
      writer
        .uint32((field << 3) | 3)
        .uint32(8)
        .uint32(1)
        .uint32((field << 3) | 4),
    () => writer.uint32((field << 3) | 5).fixed32(1),
  ];
  fields[Math.floor(next() * fields.length)]!();
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imageOfInfo, SandboxImages } from '../../../../../src/workers/pleg/inspection/sandbox-images.ts';
import type { SandboxItem } from '../../../../../src/workers/pleg/records/pod-record.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { silentLogger } from '../../../../support/logger.ts';
import { table } from '../../../../support/table.ts';

const rows: { name: string; info: Record<string, string>; want: string }[] = [
  {
    name: 'the info of containerd and CRI-O',
    info: { info: '{"pid":1,"image":"registry.k8s.io/pause:3.10"}' },
    want: 'registry.k8s.io/pause:3.10',
  },
  { name: 'no info', info: {}, want: '' },
  { name: 'an info without an image', info: { info: '{}' }, want: '' },
  { name: 'an image that is no text', info: { info: '{"image":{}}' }, want: '' },
  { name: 'an image that is too long', info: { info: JSON.stringify({ image: 'x'.repeat(513) }) }, want: '' },
  { name: 'an info that is too long', info: { info: JSON.stringify({ image: 'a', more: 'x'.repeat(5 * 1024 * 1024) }) }, want: '' },
  { name: 'no JSON', info: { info: 'null' }, want: '' },
];
table('imageOfInfo', (row) => {
  for (const { name, info, want } of rows) row(name, () => assert.equal(imageOfInfo(info), want));
});

test('each sandbox is asked for once, later, and one that fails or was removed hinders no other', async (t) => {
  const clock = new FakeClock();
  const calls: string[] = [];
  const published: string[] = [];
  const images = new SandboxImages({
    runtime: {
      async sandboxInfo(id: string) {
        calls.push(id);
        if (id === 'bad') throw new Error('no task');
        return { info: '{"image":"pause"}' };
      },
    },
    publish: ({ id, image }) => void published.push(`${id} ${image}`),
    clock,
    logger: silentLogger,
    signal: t.signal,
  });
  const sandbox = (id: string, slot = 1) => ({ kind: 'sandbox', id, slot }) as unknown as SandboxItem;
  const [bad, gone, good] = [sandbox('bad'), sandbox('gone', -1), sandbox('good')];
  for (const item of [bad, gone, good, good]) images.request(item);
  await clock.advance(4000);
  assert.deepEqual(calls, []);
  await clock.advance(1000);
  assert.deepEqual([calls, published], [['bad', 'good'], ['good pause']]);
  for (const item of [bad, good, sandbox('later')]) images.request(item);
  await clock.advance(5000);
  assert.deepEqual(calls, ['bad', 'good', 'later']);
});

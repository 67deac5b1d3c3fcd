import assert from 'node:assert/strict';
import { parseImageGcArgs } from '../../../../../src/main/cli/image-gc/parse-args.ts';
import { renderPlan } from '../../../../../src/main/cli/image-gc/render-plan.ts';
import type { ImageGcPlan } from '../../../../../src/shared/contracts/images.ts';
import { table } from '../../../../support/table.ts';

const mebibyte = 1024 * 1024;
const nowMs = Date.parse('2026-01-01T01:00:00Z');
type Planned = ImageGcPlan['images'][number];
const anImage = (over: Partial<Planned> = {}): Planned => ({
  id: 'sha256:1',
  names: ['r.example/a:1', 'r.example/a@sha256:2'],
  sizeBytes: 10 * mebibyte,
  firstDetected: '2026-01-01T00:00:00Z',
  lastUsed: null,
  remove: false,
  reason: 'not necessary',
  ...over,
});
const aPlan = (over: Partial<ImageGcPlan> = {}): ImageGcPlan => ({
  highThresholdPercent: 85,
  lowThresholdPercent: 80,
  minAgeMs: 120_000,
  maxAgeMs: 0,
  capacityBytes: 100 * mebibyte,
  availableBytes: 10 * mebibyte,
  usagePercent: 90,
  toFreeBytes: 10 * mebibyte,
  images: [],
  ...over,
});
const lines = (over: Partial<ImageGcPlan>) => renderPlan(aPlan(over), nowMs).split('\n');

table('the table of kubelet image-gc', (row) => {
  row('each image has its size, its last use, and why it goes or stays', () =>
    assert.deepEqual(
      lines({
        images: [
          anImage({ remove: true, reason: 'space' }),
          anImage({ names: ['b:1', 'b:2', 'b:3'], lastUsed: '2026-01-01T00:30:00Z' }),
          anImage({ names: [], reason: 'in use', lastUsed: '2026-01-01T00:59:59Z' }),
        ],
      }),
      [
        'The image filesystem is 90% full (of 100.0 MiB).',
        'From 85% on, unused images are removed until it is 80% full.',
        'A collection would now remove 1 of 3 images (10.0 MiB of the 10.0 MiB that it needs).',
        '',
        'IMAGE           SIZE      LAST USED     RESULT  REASON',
        'r.example/a:1   10.0 MiB  unknown       goes    the disk is too full',
        'b:1 and 2 more  10.0 MiB  30 m 0 s ago  stays   not necessary',
        'sha256:1        10.0 MiB  now           stays   in use',
        '',
      ],
    ),
  );
  row('a maximum age is part of the policy', () => {
    const text = lines({ maxAgeMs: 3_600_000, toFreeBytes: 0, images: [anImage({ remove: true, reason: 'age' })] });
    assert.match(text[1]!, /and always those that were not used for 1 h 0 m\.$/);
    assert.match(text[2]!, / 1 of 1 images \(10\.0 MiB\)\.$/);
    assert.match(text[5]!, /goes +unused for longer than imageMaximumGCAge$/);
  });
  row('without a threshold nothing is collected', () =>
    assert.equal(lines({ highThresholdPercent: 100 })[1], 'Images are not collected: imageGCHighThresholdPercent is 100.'),
  );
  row('a policy of age alone', () =>
    assert.equal(
      lines({ highThresholdPercent: 100, maxAgeMs: 3_600_000 })[1],
      'Only those that were not used for 1 h 0 m are removed: imageGCHighThresholdPercent is 100.',
    ),
  );
  row('a disk without a capacity', () =>
    assert.equal(lines({ usagePercent: null, capacityBytes: 0 })[0], 'The capacity of the image filesystem is unknown.'),
  );
  row('names do not control the terminal, and have a bounded width', () => {
    const text = renderPlan(
      aPlan({ images: [anImage({ names: ['a\u001b[2J\u202e\n\r'] }), anImage({ names: [`\u{1f600}`.repeat(5000)] })] }),
      nowMs,
    );
    assert.match(text, /^a\?\[2J\?\?\? /m);
    assert.ok(text.split('\n').length === 8 && text.split('\n').every((line) => line.length < 300), text.slice(0, 600));
  });
});

table('the arguments of kubelet image-gc', (row) => {
  const defaults = { rootDir: '/var/lib/kubelet', json: false };
  row('none', () => assert.deepEqual(parseImageGcArgs([]), defaults));
  for (const args of [['-o', 'json'], ['-ojson'], ['-o=json'], ['--output', 'json'], ['--output=json']])
    row(args.join(' '), () => assert.deepEqual(parseImageGcArgs(args), { ...defaults, json: true }));
  row('a root directory', () => assert.deepEqual(parseImageGcArgs(['--root-dir=/x', '-o', 'table']), { ...defaults, rootDir: '/x' }));
  row('help', () => assert.equal(parseImageGcArgs(['-o', 'json', '--help']), 'help'));
  const errors: [string[], string][] = [
    [['busybox'], 'unexpected argument: busybox'],
    [['-o', 'yaml'], '--output must be table or json: yaml'],
    [['-o'], 'flag needs an argument: -o'],
    [['--output='], 'flag needs an argument: --output'],
    [['-x', 'json'], 'unknown flag: -x'],
    [['--__proto__', 'x'], 'unknown flag: --__proto__'],
    [['--remove'], 'unknown flag: --remove'],
  ];
  for (const [args, message] of errors) row(args.join(' '), () => assert.throws(() => parseImageGcArgs(args), { message }));
});

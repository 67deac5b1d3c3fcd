import assert from 'node:assert/strict';
import { parseTimelineArgs } from '../../../../../src/main/cli/timeline/parse-args.ts';
import { printable, printableJSON } from '../../../../../src/main/cli/printable.ts';
import { renderList } from '../../../../../src/main/cli/timeline/render-list.ts';
import { renderTimeline } from '../../../../../src/main/cli/timeline/render-timeline.ts';
import type { PhaseJson, TimelineJson } from '../../../../../src/shared/contracts/timeline.ts';
import { timelineJson } from '../../../../../src/shared/timeline/timeline-json.ts';
import { aTimeline } from '../../../../support/pods/pod-timeline.ts';
import { table } from '../../../../support/table.ts';

const phase = (name: PhaseJson['phase'], startMs: number, durationMs: number, over: Partial<PhaseJson> = {}): PhaseJson => ({
  phase: name,
  startMs,
  durationMs,
  outcome: 'ok',
  count: 1,
  ...over,
});
const timeline = (phases: PhaseJson[], over: Partial<TimelineJson> = {}): TimelineJson => ({
  ...timelineJson(aTimeline([], { state: 'Running', seenAtMs: 0, epochMs: Date.UTC(2026, 0, 1) }), 0),
  startMs: 1000,
  phases,
  ...over,
});
const lines = (json: TimelineJson, width = 80) => renderTimeline(json, width).trimEnd().split('\n');

table('the chart of a timeline', (row) => {
  row('one bar per phase, in the order of their beginning', () =>
    assert.deepEqual(
      lines(
        timeline([
          phase('Ready', 0, 1000),
          phase('Start', 800, 200, { container: 'app' }),
          phase('Sandbox', 200, 600, { wait: { for: 'StartPermit', durationMs: 300, open: false } }),
        ]),
      ),
      [
        'default/web  Running',
        'uid u, from api, seen 2026-01-01T00:00:00.000Z',
        'ready after 1.0 s',
        '',
        'Start (1.0 s)',
        '  Ready       |##########################|  1.0 s',
        '  Sandbox     |     --------########     | 600 ms  waited 300 ms for StartPermit',
        '  Start (app) |                     #####| 200 ms',
      ],
    ),
  );
  row('the size of a pulled image', () =>
    assert.match(
      renderTimeline(timeline([phase('Image', 0, 9, { container: 'app', imageBytes: 52_430_848 })]), 80),
      /Image \(app\).*pulled 52\.4 MB$/m,
    ),
  );
  row('a wait of no time is not worth a note', () =>
    assert.ok(
      !renderTimeline(timeline([phase('Queue', 0, 9, { wait: { for: 'SyncSlot', durationMs: 0, open: false } })]), 80).includes('SyncSlot'),
    ),
  );
  row('open and failed phases are marked', () => {
    const [, , , , , image, volumes] = lines(
      timeline([
        phase('Image', 0, 1000, { container: 'a', outcome: 'open', wait: { for: 'PullQueue', durationMs: 1000, open: true } }),
        phase('Volumes', 0, 10, { outcome: 'failed', count: 255 }),
      ]),
    );
    assert.match(image!, /\|-+>\| +1\.0 s {2}waits 1\.0 s for PullQueue$/);
    assert.match(volumes!, /\|x +\| +10 ms {2}255\+ times$/);
  });
  row('a termination has a chart of its own', () => {
    const text = renderTimeline(
      timeline([phase('Ready', 0, 1000), phase('Start', 60_000, 10, { container: 'a', count: 2 }), phase('Termination', 90_000, 500)], {
        state: 'Finished',
        terminationMs: 500,
      }),
      80,
    );
    assert.deepEqual(text.match(/^(Start|Since the start|Termination) \(.*\)$/gm), [
      'Start (1.0 s)',
      'Since the start (10 ms)',
      'Termination (500 ms)',
    ]);
    assert.match(text, /^ready after 1.0 s; termination took 500 ms$/m);
  });
  row('the ledger says what is waited for, since when, and what follows', () => {
    const ledger = [
      { kind: 'container', waitsFor: 'container a: its exit after SIGTERM', forMs: 12_000, next: 'SIGKILL in 18 s' },
    ] as const;
    assert.deepEqual(lines(timeline([], { state: 'Terminating', ledger })).slice(-3), [
      'Waits for:',
      '  container a: its exit after SIGTERM, for 12 s',
      '      next: SIGKILL in 18 s',
    ]);
  });
  row('no line is wider than the terminal, for names of usual length', () => {
    const phases = [
      phase('Image', 0, 59_000, {
        container: 'a-container-with-a-name',
        wait: { for: 'OtherContainers', durationMs: 59_000, open: false },
      }),
    ];
    for (const width of [90, 100, 160])
      for (const line of lines(timeline(phases), width)) assert.ok(line.length <= width, `${width}: ${line}`);
  });
  row('control characters of names and problems do not reach the terminal', () => {
    const evil = 'a\u001b[31m\u0007\u202e\n\r\u2028b';
    const text = renderTimeline(
      timeline([phase('Image', 0, 1, { container: evil })], {
        name: evil,
        problem: `${evil}!`,
        ledger: [{ kind: 'volume', waitsFor: evil, forMs: 1, next: evil }],
      }),
      80,
    );
    assert.equal(text.replaceAll('\n', ''), printable(text.replaceAll('\n', '')));
    assert.equal(text.split('\n').length, 13);
  });
  row('JSON has escapes for such characters, and the same values', () => {
    const value = { problem: 'a\u009b31m\u202e\n\u2028\u{e0041}b' };
    const text = printableJSON(value);
    assert.equal(text, '{\n  "problem": "a\\u009b31m\\u202e\\n\\u2028\\udb40\\udc41b"\n}');
    assert.deepEqual(JSON.parse(text), value);
  });
  row('a problem that the ledger names is not repeated', () => {
    const ledger = [{ kind: 'sandbox', waitsFor: 'a retry after: no plugin', forMs: 1, next: 'x' }] as const;
    assert.ok(!renderTimeline(timeline([], { problem: 'no plugin', ledger }), 80).includes('Last problem'));
  });
  row('a list has a line per pod', () =>
    assert.equal(
      renderList({
        pods: [{ namespace: 'd', name: 'web\u001b', uid: 'u', state: 'Starting', slowestMs: 65_000, phase: 'Image (app)' }],
        total: 3,
      }),
      'POD     STATE     SLOWEST  PHASE\nd/web?  Starting  1 m 5 s  Image (app)\n… and 2 more pods\n',
    ),
  );
});

table('the arguments of kubelet timeline', (row) => {
  const defaults = { pod: undefined, rootDir: '/var/lib/kubelet', json: false, limit: 20 };
  row('none: the slowest pods', () => assert.deepEqual(parseTimelineArgs([]), defaults));
  row('a pod and flags', () =>
    assert.deepEqual(parseTimelineArgs(['a/b', '--json', '--root-dir=/x', '--limit', '5']), {
      pod: 'a/b',
      rootDir: '/x',
      json: true,
      limit: 5,
    }),
  );
  row('help', () => assert.equal(parseTimelineArgs(['a/b', '-h']), 'help'));
  const errors: [string[], RegExp][] = [
    [['web'], /^web is not <namespace>\/<pod>$/],
    [['a/b', 'c/d'], /^only one pod/],
    [['--kubeconfig', 'x'], /^unknown flag: --kubeconfig$/],
    [['--root-dir'], /^flag needs an argument: --root-dir$/],
    [['--limit', '501'], /^--limit must be a number from 1 to 500: 501$/],
    [['--json=1'], /^unknown flag: --json=1$/],
  ];
  for (const [args, pattern] of errors) row(args.join(' '), () => assert.throws(() => parseTimelineArgs(args), { message: pattern }));
});

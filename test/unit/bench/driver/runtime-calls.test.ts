import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLogLine } from '../../../../bench/driver/runtime-calls.ts';

const [sandbox, container] = ['a'.repeat(64), 'b'.repeat(64)];
const pod = '&PodSandboxMetadata{Name:web,Uid:u1,Namespace:bench,Attempt:0,}';
const app = '&ContainerMetadata{Name:app,Attempt:0,}';

const pairs: [call: string, begin: string, end: string, subject: string][] = [
  ['RunPodSandbox', `for ${pod}`, `for ${pod} returns sandbox id \\"${sandbox}\\"`, pod],
  [
    'CreateContainer',
    `within sandbox \\"${sandbox}\\" for container ${app}`,
    `within sandbox \\"${sandbox}\\" for ${app} returns container id \\"${container}\\"`,
    `\\"${sandbox}\\" ${app}`,
  ],
  ['StartContainer', `for \\"${container}\\"`, `for \\"${container}\\" returns successfully`, `\\"${container}\\"`],
  ['StopContainer', `for \\"${container}\\" with timeout 30 (s)`, `for \\"${container}\\" returns successfully`, `\\"${container}\\"`],
  ['StopPodSandbox', `for \\"${sandbox}\\"`, `for \\"${sandbox}\\" returns successfully`, `\\"${sandbox}\\"`],
];

const logged = (call: string, rest: string) => parseLogLine(`time="2026-11-21T17:48:18.060352444Z" level=info msg="${call} ${rest}"`);

test('the log lines for the start and the end of a call have the same subject', () => {
  const atMs = Date.UTC(2026, 10, 21, 17, 48, 18) + 60.352444;
  for (const [call, begin, end, subject] of pairs) {
    assert.deepEqual(logged(call, begin), { call, subject, isEnd: false, atMs });
    assert.deepEqual(logged(call, end), { call, subject, isEnd: true, atMs });
  }
});

test('other log lines are ignored', () => {
  const others = ['RemoveContainer', 'PullImage'].map((call) => logged(call, `for \\"${container}\\" returns successfully`));
  assert.deepEqual([...others, parseLogLine('not a line'), parseLogLine('')], [undefined, undefined, undefined, undefined]);
});

import assert from 'node:assert/strict';
import { CriError, grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import type { AttemptResult } from '../../../../../src/workers/probes/actions/attempt.ts';
import { startExec, type ExecReply } from '../../../../../src/workers/probes/actions/exec.ts';
import { table } from '../../../../support/table.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const reply = (exitCode: number, stdout = '', stderr = ''): ExecReply => ({ exitCode, stdout: bytes(stdout), stderr: bytes(stderr) });
const criError = (code: number, text: string) => new CriError('ExecSync', code, text);

function run(answer: ExecReply | Error): Promise<AttemptResult> {
  const execSync = () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer));
  const action = { type: 'exec', command: ['sleep', '"5"'] } as const;
  return new Promise((resolve) => void startExec({ action, containerID: 'c' as ContainerID, timeoutSeconds: 90, execSync }, resolve));
}

table('startExec', (row) => {
  const cases: readonly [string, ExecReply | Error, AttemptResult][] = [
    ['exit code 0', reply(0, 'out'), { outcome: 'success', output: '' }],
    ['another exit code', reply(3, 'out', 'err'), { outcome: 'failure', output: 'outerr' }],
    [
      'long output is cut',
      reply(1, 'a'.repeat(9000), 'b'.repeat(9000)),
      { outcome: 'failure', output: `${'a'.repeat(9000)}${'b'.repeat(1240)}` },
    ],
    [
      'the command has timed out',
      criError(grpcCode.DEADLINE_EXCEEDED, 'failed to exec in container: timeout 90s exceeded: context deadline exceeded'),
      { outcome: 'failure', output: String.raw`command timed out: "sleep \"5\"" timed out after 1m30s` },
    ],
    [
      'the runtime does not answer',
      new Error('the runtime did not answer within 92 s'),
      { outcome: 'unknown', output: 'the runtime did not answer within 92 s', isError: true },
    ],
    [
      'the runtime is down',
      criError(grpcCode.UNAVAILABLE, 'No connection established'),
      { outcome: 'unknown', output: 'rpc error: code = Unavailable desc = No connection established', isError: true },
    ],
  ];
  for (const [name, answer, want] of cases) row(name, async () => assert.deepEqual(await run(answer), want));
});

/**
 * An exec probe: a command in the container through the runtime's ExecSync (upstream pkg/probe/exec/exec.go, and ExecSync in cri-client's remote_runtime.go).
 * The runtime enforces the timeout. A runtime that doesn't answer at all is not the container's fault: its result is unknown and is discarded.
 */
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { goDuration, goQuote } from '../../../shared/kubernetes/go-text.ts';
import { CriError, grpcCode } from '../../../shared/cri/cri-error.ts';
import type { ActionOf, Attempt, AttemptResult, OnAttemptDone } from './attempt.ts';
import { maxOutputBytes, success } from './attempt.ts';

export interface ExecReply {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitCode: number;
}

export interface ExecRequest {
  readonly containerID: ContainerID;
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
}

/** Calls the runtime. Rejects with CriError, or with another error when the runtime does not answer. */
export type ExecSync = (request: ExecRequest, signal: AbortSignal) => Promise<ExecReply>;

export interface ExecAttempt {
  readonly action: ActionOf<'exec'>;
  readonly containerID: ContainerID;
  readonly timeoutSeconds: number;
  readonly execSync: ExecSync;
}

export function startExec({ action: { command }, containerID, timeoutSeconds, execSync }: ExecAttempt, done: OnAttemptDone): Attempt {
  const ending = new AbortController();
  const run = async () => {
    const result = await execSync({ containerID, command, timeoutSeconds }, ending.signal).then(toResult, (err: unknown) =>
      errorResult(err, command, timeoutSeconds),
    );
    if (!ending.signal.aborted) done(result);
  };
  void run();
  return { timeOut() {}, cancel: () => ending.abort() };
}

function toResult({ stdout, stderr, exitCode }: ExecReply): AttemptResult {
  if (exitCode === 0) return success;
  const head = Buffer.from(stdout.subarray(0, maxOutputBytes));
  return { outcome: 'failure', output: Buffer.concat([head, stderr.subarray(0, maxOutputBytes - head.length)]).toString() };
}

/** `DeadlineExceeded` is the runtime's answer that the command has timed out. */
function errorResult(err: unknown, command: readonly string[], timeoutSeconds: number): AttemptResult {
  const hasTimedOut = err instanceof CriError && err.code === grpcCode.DEADLINE_EXCEEDED;
  if (!hasTimedOut)
    return { outcome: 'unknown', output: (err instanceof Error ? err.message : String(err)).replace(/^ExecSync: /, ''), isError: true };
  return {
    outcome: 'failure',
    output: `command timed out: ${goQuote(command.join(' '))} timed out after ${goDuration(timeoutSeconds * 1000)}`,
  };
}

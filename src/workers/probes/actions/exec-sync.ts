/** Calls ExecSync of the runtime for exec probes (upstream ExecSync in cri-client's remote_runtime.go). */
import type { CriClient } from '../../../shared/cri/client.ts';
import { CriError, grpcCode } from '../../../shared/cri/cri-error.ts';
import { monotonicMs } from '../../../shared/time/clock.ts';
import type { ExecSync } from './exec.ts';

/** Node's timers, and the deadline that the runtime gets with the call, may end a call this much early. */
const toleranceMs = 100;

/**
 * The runtime has `runtimeRequestTimeoutMs` more than the command, to end it. When all of that has passed, nobody knows anything about the command: the error is
 * no CriError then, so that it does not pass for a command that has timed out.
 */
export function execSyncOf(connect: () => Promise<CriClient>, runtimeRequestTimeoutMs: number): ExecSync {
  return async ({ containerID, command, timeoutSeconds }, signal) => {
    const client = await connect();
    const deadlineMs = timeoutSeconds * 1000 + runtimeRequestTimeoutMs;
    const startedAtMs = monotonicMs();
    try {
      const request = { containerId: containerID, cmd: command, timeout: BigInt(timeoutSeconds) };
      return await client.runtime.call('execSync', request, { deadlineMs, signal });
    } catch (err) {
      const isDeadline = err instanceof CriError && err.code === grpcCode.DEADLINE_EXCEEDED;
      if (!isDeadline || monotonicMs() - startedAtMs < deadlineMs - toleranceMs) throw err;
      throw new Error(`rpc error: code = DeadlineExceeded desc = the runtime did not answer within ${deadlineMs / 1000} s`, { cause: err });
    }
  };
}

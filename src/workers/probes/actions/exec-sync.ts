/** Calls ExecSync of the runtime for exec probes (upstream ExecSync in cri-client's remote_runtime.go). */
import type { CriClient } from '../../../shared/cri/client.ts';
import { CriError, grpcCode } from '../../../shared/cri/cri-error.ts';
import { monotonicMs } from '../../../shared/time/clock.ts';
import type { ExecSync } from './exec.ts';

/** Node's timers, and the deadline that the runtime gets with the call, may end a call this much before its deadline. */
const toleranceMs = 100;

/**
 * After the command's timeout, the runtime has `runtimeRequestTimeoutMs` to end the command and to answer. When this time has passed too, the state of the
 * command is unknown: the error is then not a CriError, so that the attempt does not count as a command that has timed out.
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

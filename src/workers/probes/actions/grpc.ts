/** gRPC probes are not built yet. */
import type { ActionOf, Attempt, OnAttemptDone } from './attempt.ts';
export function startGRPC(_action: ActionOf<'grpc'>, _timeoutSeconds: number, done: OnAttemptDone): Attempt {
  done({ outcome: 'unknown', output: 'gRPC probes are not built yet', isError: true });
  return { timeOut() {}, cancel() {} };
}

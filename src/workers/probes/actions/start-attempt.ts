/** Starts an attempt of a probe's action. */
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import type { ProbeAction } from '../../../shared/contracts/probes.ts';
import type { OnSpent } from '../../../shared/dial/watched-connection.ts';
import type { Attempt, OnAttemptDone } from './attempt.ts';
import type { ExecSync } from './exec.ts';
import { startExec } from './exec.ts';
import { startGRPC } from './grpc.ts';
import { startHTTP } from './http.ts';
import { startTCP } from './tcp.ts';

export interface AttemptTarget {
  readonly action: ProbeAction;
  readonly containerID: ContainerID;
  readonly timeoutSeconds: number;
  readonly onSpent?: OnSpent;
  /** False: the pod's probes have spent their share of the thread's time. */
  readonly mayRepeat?: () => boolean;
}

export type StartAttempt = (target: AttemptTarget, done: OnAttemptDone) => Attempt;

/** Whether an attempt has a TLS handshake. The server chooses how much CPU time its handshake costs. */
export const hasHandshake = (action: ProbeAction): boolean =>
  (action.type === 'http' && action.scheme === 'https') || (action.type === 'grpc' && action.tls === true);

/** `execSync` calls the runtime. `done` may be called before the attempt is returned. */
export function attemptStarter(execSync: ExecSync): StartAttempt {
  return ({ action, containerID, timeoutSeconds, onSpent }, done) => {
    if (action.type === 'http') return startHTTP(action, done, onSpent);
    if (action.type === 'tcp') return startTCP(action, done);
    if (action.type === 'grpc') return startGRPC(action, timeoutSeconds, done, onSpent);
    if (action.type === 'exec') return startExec({ action, containerID, timeoutSeconds, execSync }, done);
    done({ outcome: 'unknown', output: action.message, isError: true });
    return { timeOut() {}, cancel() {} };
  };
}

/** Runs one attempt of a probe's action, with its timeout. */
import type { ProbeAction } from '../../../src/shared/contracts/probes.ts';
import type { ContainerID } from '../../../src/shared/kubernetes/ids.ts';
import type { AttemptResult } from '../../../src/workers/probes/actions/attempt.ts';
import { attemptStarter } from '../../../src/workers/probes/actions/start-attempt.ts';

const start = attemptStarter(() => Promise.reject(new Error('no runtime here')));

/** A timeout of an hour, by default: the test's own limit is shorter. */
export function attempt(action: ProbeAction, timeoutSeconds = 3600): Promise<AttemptResult> {
  const ended = Promise.withResolvers<AttemptResult>();
  const running = start({ action, containerID: 'c' as ContainerID, timeoutSeconds }, ended.resolve);
  const timer = setTimeout(() => running.timeOut(), timeoutSeconds * 1000);
  return ended.promise.finally(() => clearTimeout(timer));
}

/**
 * What a new pod's first container needs besides the sandbox, had while the sandbox is made: its image, what its environment takes, and its
 * log folder.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PullSecret } from '../../../shared/contracts/values.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { PodActions } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { readEnvironmentValues } from '../runtime-config/environment-values.ts';
import type { EnvironmentValues } from '../runtime-config/index.ts';
import { makeLogFolder } from './container-logs.ts';
import { ensureImage } from './ensure-image.ts';
import { readPullSecrets } from './pull-secrets.ts';

/** Each may reject; nobody need listen. */
export interface Prepared {
  readonly container: string;
  readonly pullSecrets: Promise<readonly PullSecret[]>;
  readonly imageRef: Promise<string>;
  readonly environment: Promise<EnvironmentValues>;
  /** After the logs that are there. */
  readonly restartCount: Promise<number>;
}

/** Undefined: the pod has no container to be started. */
export function prepareFirst(context: TaskContext, pod: Pod, actions: PodActions): Prepared | undefined {
  const name = actions.initContainersToStart[0] ?? actions.containersToStart[0];
  const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((one) => one.name === name);
  if (!container) return undefined;
  const wanted = { image: container.image ?? '', pullPolicy: container.imagePullPolicy };
  // The request for the sandbox goes first.
  const turn = nextTurn();
  const pullSecrets = turn.then(() => readPullSecrets(context, pod));
  const imageRef = pullSecrets.then((secrets) => ensureImage(context, { pod, container, pullSecrets: secrets }, wanted));
  const environment = turn.then(() => readEnvironmentValues((refs) => context.line.values(refs), pod, container));
  // Known by the time that it is asked for.
  const imageUser = imageRef.then((ref) => context.runtime.imageUser(ref));
  const restartCount = turn.then(() => makeLogFolder(context, pod, container));
  for (const promise of [pullSecrets, imageRef, environment, imageUser, restartCount]) promise.catch(() => {});
  return { container: container.name, pullSecrets, imageRef, environment, restartCount };
}

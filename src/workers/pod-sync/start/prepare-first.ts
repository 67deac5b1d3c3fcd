/** What a new pod's first container needs besides the sandbox, asked for while the sandbox is made: its image, and what its environment takes. */
import type { PullSecret } from '../../../shared/contracts/values.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { PodActions } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { readEnvironmentValues } from '../runtime-config/environment-values.ts';
import type { EnvironmentValues } from '../runtime-config/index.ts';
import { ensureImage } from './ensure-image.ts';
import { readPullSecrets } from './pull-secrets.ts';

/** Each may reject; nobody need listen. */
export interface Prepared {
  readonly container: string;
  readonly pullSecrets: Promise<readonly PullSecret[]>;
  readonly imageRef: Promise<string>;
  readonly environment: Promise<EnvironmentValues>;
}

/** Undefined: the pod has no container to be started. */
export function prepareFirst(context: TaskContext, pod: Pod, actions: PodActions): Prepared | undefined {
  const name = actions.initContainersToStart[0] ?? actions.containersToStart[0];
  const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((one) => one.name === name);
  if (!container) return undefined;
  const pullSecrets = readPullSecrets(context, pod);
  const wanted = { image: container.image ?? '', pullPolicy: container.imagePullPolicy };
  const imageRef = pullSecrets.then((secrets) => ensureImage(context, { pod, container, pullSecrets: secrets }, wanted));
  const environment = readEnvironmentValues((refs) => context.line.values(refs), pod, container);
  // Known by the time that it is asked for.
  const imageUser = imageRef.then((ref) => context.runtime.imageUser(ref));
  for (const promise of [pullSecrets, imageRef, environment, imageUser]) promise.catch(() => {});
  return { container: container.name, pullSecrets, imageRef, environment };
}

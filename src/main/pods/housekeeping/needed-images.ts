/** Computes the images that the node's pods need, whether or not their containers exist in the runtime. Pure, but for the stores that it reads. */
import type { NeededImages } from '../../../shared/contracts/images.ts';
import { podUID } from '../../../shared/kubernetes/ids.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { ApiStatusCache } from '../api-status/index.ts';
import type { PodManager } from '../pod-manager.ts';
import type { RuntimeStatusCache } from '../runtime-status-cache.ts';

export interface NeededImagesSources {
  readonly podManager: Pick<PodManager, 'all'>;
  readonly statuses: Pick<ApiStatusCache, 'get'>;
  readonly cache: Pick<RuntimeStatusCache, 'all'>;
  readonly clock: Clock;
}

export function neededImages({ podManager, statuses, cache, clock }: NeededImagesSources): NeededImages {
  const listedAtMs = clock.monotonic();
  const pods = podManager.all().filter((pod) => !isTerminalPhase(statuses.get(podUID(pod))?.phase ?? pod.status?.phase));
  const ids = [...cache.all()].flatMap(({ containers }) =>
    containers.flatMap(({ imageID, mounts }) => [imageID, ...mounts.flatMap(({ image }) => (image === undefined ? [] : [image]))]),
  );
  return { listedAtMs, names: [...new Set(pods.flatMap(imagesOf))], ids: [...new Set(ids.filter((id) => id !== ''))] };
}

function imagesOf({ spec }: Pod): string[] {
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
  const images = [...containers.map(({ image }) => image), ...(spec.volumes ?? []).map(({ image }) => image?.reference)];
  return images.flatMap((image) => (image === undefined || image === '' ? [] : [image]));
}

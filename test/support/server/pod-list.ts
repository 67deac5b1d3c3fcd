/** All items of a list of pods, as clients get them. */
import { PodLists, type PodList } from '../../../src/main/server/pod-lists.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { Logger } from '../../../src/shared/log/logger.ts';

export function podListOf(list: PodList, logger: Logger): Pod[] {
  const lists = new PodLists({ pods: list, runningPods: list, allocatedPods: list }, logger);
  const uids = lists.uids('pods');
  const pods: Pod[] = [];
  for (let at = 0; at < uids.length;) {
    const { taken, json } = lists.items('pods', uids.slice(at));
    pods.push(...(JSON.parse(`[${Buffer.from(json).toString()}]`) as Pod[]));
    at += taken;
  }
  return pods;
}

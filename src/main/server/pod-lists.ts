/**
 * The lists of pods that the server thread serves, in portions: a tenant can make a pod's JSON long, so that the lists of all pods exceed what one string can hold.
 * The server thread asks for the UIDs, then for the items of those that it has not sent. Upstream: encodePods in pkg/kubelet/server.
 */
import type { PodListItems, PodListName } from '../../shared/contracts/server/pods.ts';
import { contain } from '../../shared/faults/contain.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';

/** One list, in its order. */
export interface PodList {
  readonly uids: () => readonly PodUID[];
  /** Returns the pod as the API object of this list; undefined when the list has it no more. */
  readonly find: () => (uid: PodUID) => object | undefined;
}

/** In characters: a portion of this length takes main 5 ms. Its last pod may exceed the limit. */
export const portionLength = 512 * 1024;

export class PodLists {
  readonly #lists: Readonly<Record<PodListName, PodList>>;
  readonly #logger: Logger;

  constructor(lists: Readonly<Record<PodListName, PodList>>, logger: Logger) {
    this.#lists = lists;
    this.#logger = logger;
  }

  uids(list: PodListName): readonly PodUID[] {
    return this.#lists[list].uids();
  }

  /** Returns the items of the first pods, at least of one. Omits pods that are gone, and those that cannot be serialized. */
  items(list: PodListName, uids: readonly PodUID[]): PodListItems {
    const find = this.#lists[list].find();
    const items: string[] = [];
    let length = 0;
    let taken = 0;
    for (const uid of uids) {
      taken += 1;
      const json = contain({ handler: 'pod list', logger: this.#logger, fields: { podUID: uid } }, () => {
        const pod = find(uid);
        return pod && JSON.stringify(pod);
      });
      if (json === undefined) continue;
      items.push(json);
      length += json.length;
      if (length >= portionLength) break;
    }
    return { taken, json: new TextEncoder().encode(items.join(',')) };
  }
}

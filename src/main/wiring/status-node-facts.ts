/**
 * The node's facts that pods' statuses contain. The server reads statuses before the runtime has answered, and the node's facts are known
 * only afterwards, so this object is created before both.
 */
import type { NodeInfo } from '../../shared/contracts/node-info.ts';

type Facts = Pick<NodeInfo, 'hostIPs' | 'runtimeName'>;

export class StatusNodeFacts {
  #source: { current(): Facts } = { current: () => ({ hostIPs: [], runtimeName: '' }) };

  /** Reads from this source from now on. */
  follow(source: { current(): Facts }): void {
    this.#source = source;
  }

  current(): Facts {
    return this.#source.current();
  }
}

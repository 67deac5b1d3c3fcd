/**
 * What pods' statuses show of the node. The server reads statuses before the runtime has answered; the node's facts are only known
 * after it. Created before both.
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

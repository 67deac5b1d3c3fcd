/** The events of resizes on a modelled node, and what must hold for them: each once for a generation, and none that nobody caused. */
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';

export interface ResizeEvent {
  readonly podUID: string;
  readonly reason: string;
  readonly generation: number;
  /** Of the model's clock. */
  readonly atMs: number;
  /** The number of the kubelet that sent it. */
  readonly launch: number;
}

export class ResizeEvents {
  readonly #events: ResizeEvent[] = [];
  /** How often the test has asked for a resize with a generation, by pod and generation. A manifest always has generation 0. */
  readonly #asked = new Map<string, number>();

  ask(podUID: string, generation: number): void {
    const key = `${podUID} ${generation}`;
    this.#asked.set(key, (this.#asked.get(key) ?? 0) + 1);
  }

  record({ object, reason, message }: RecordedEvent, launch: number, atMs: number): void {
    if (!reason.startsWith('Resize')) return;
    const { generation } = JSON.parse(message.slice(message.indexOf('{'))) as { readonly generation: number };
    this.#events.push({ podUID: object.uid ?? '', reason, generation, launch, atMs });
  }

  /** A kubelet that ends before it has written a status reports again what it had reported. */
  violations(): readonly string[] {
    const seen = new Map<string, number>();
    return this.#events.flatMap(({ podUID, reason, generation, launch }) => {
      const key = [podUID, reason, generation, launch].join(' ');
      const [asked, count] = [this.#asked.get(`${podUID} ${generation}`) ?? 0, (seen.get(key) ?? 0) + 1];
      seen.set(key, count);
      // While a container waits for its restart nothing is to be resized: the resize is complete, and may fail when the container starts.
      const opposite = { ResizeError: 'ResizeCompleted', ResizeCompleted: 'ResizeError' }[reason];
      seen.delete([podUID, opposite, generation, launch].join(' '));
      const problem = `${podUID} has ${count} times ${reason} for generation ${generation}, which asked for ${asked}`;
      return count > asked ? [`${problem}: ${this.#describe(podUID)}`] : [];
    });
  }

  #describe(podUID: string): string {
    const events = this.#events.filter((event) => event.podUID === podUID);
    return events.map(({ atMs, reason, generation, launch }) => `${atMs / 1000} ${reason} ${generation} of kubelet ${launch}`).join(', ');
  }
}

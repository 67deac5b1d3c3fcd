/**
 * Container events as containerd 1.7 hands them out: one channel of 1,000, each event to ONE of the subscribers. What happens
 * while nobody listens waits in the channel; what finds it full is lost.
 */
import type { ContainerEventResponse } from '../../src/shared/cri/generated/cri-v1.ts';
import type { Random } from './shuffle.ts';

export interface EventFaults {
  /** Probability, 0 to 1, that an event is lost; that it comes twice. */
  readonly lose: number;
  readonly repeat: number;
}

export type Subscriber = (event: ContainerEventResponse) => void;

/** containerd's containerEventsChan. */
const channelSize = 1000;

export class EventHub {
  readonly #random: Random;
  readonly #subscribers = new Set<Subscriber>();
  #waiting: ContainerEventResponse[] = [];
  #faults: EventFaults = { lose: 0, repeat: 0 };

  constructor(random: Random) {
    this.#random = random;
  }

  setFaults(faults: Partial<EventFaults>): void {
    this.#faults = { lose: 0, repeat: 0, ...faults };
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  /** Returns how to leave. What was waiting is given to whoever comes first. */
  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const event of waiting) subscriber(event);
    return () => this.#subscribers.delete(subscriber);
  }

  publish(event: ContainerEventResponse): void {
    if (this.#random() < this.#faults.lose) return;
    this.#deliver(event);
    if (this.#random() < this.#faults.repeat) this.#deliver(event);
  }

  clear(): void {
    this.#waiting = [];
    this.#faults = { lose: 0, repeat: 0 };
  }

  #deliver(event: ContainerEventResponse): void {
    if (this.#subscribers.size === 0) {
      if (this.#waiting.length < channelSize) this.#waiting.push(event);
      return;
    }
    const chosen = [...this.#subscribers][Math.floor(this.#random() * this.#subscribers.size)]!;
    chosen(event);
  }
}

/**
 * Delivers container events as containerd 1.7 does: a channel of 1,000 events, each delivered to only ONE of the subscribers. Without a
 * subscriber, events wait in the channel; events are lost when it is full.
 */
import type { ContainerEventResponse } from '../../src/shared/cri/generated/cri-v1.ts';
import type { Random } from './shuffle.ts';

export interface EventFaults {
  /** Probability (0 to 1) that an event is lost, and that it is delivered twice. */
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

  /** Returns a function to unsubscribe. Waiting events are delivered to the first subscriber. */
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

/** Posts results and events to main, one message per iteration of the event loop. */
import type { ProbeEvent, ProbeNotification, ProbeResult } from '../../shared/contracts/probes.ts';

export class Notifier {
  readonly #post: (notification: ProbeNotification) => void;
  #results: ProbeResult[] = [];
  #events: ProbeEvent[] = [];
  #isScheduled = false;

  constructor(post: (notification: ProbeNotification) => void) {
    this.#post = post;
  }

  result(result: ProbeResult): void {
    this.#results.push(result);
    this.#schedule();
  }

  event(event: ProbeEvent): void {
    this.#events.push(event);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const [results, events] = [this.#results, this.#events];
      this.#results = [];
      this.#events = [];
      this.#post({ results, events });
    });
  }
}

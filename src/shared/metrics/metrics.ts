/**
 * Metrics, counted by every thread in shared memory and rendered by the server thread without a round trip.
 * Each is declared once, as a module constant in `definitions/`, and is inert until the thread is bound to its segment.
 */
export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  inc(labels?: Labels, by?: number): void;
}
export interface Gauge {
  set(value: number, labels?: Labels): void;
  add(by: number, labels?: Labels): void;
}
export interface Histogram {
  /** Seconds, bytes, or whatever base unit the name says. */
  observe(value: number, labels?: Labels): void;
}

/** Collects samples into families, sorted by name, each with its samples in the order of the calls. */
import type { Labels } from './labels.ts';
import { aSample, type MetricFamily, type Sample } from './metric-family.ts';

export class FamilyList {
  readonly #families = new Map<string, MetricFamily & { readonly samples: Sample[] }>();

  /** @param timestampMs 0: none */
  add(name: string, type: 'counter' | 'gauge', help: string, labels: Labels, value: number, timestampMs = 0): void {
    let family = this.#families.get(name);
    if (!family) this.#families.set(name, (family = { name, type, help, samples: [] }));
    family.samples.push(aSample(labels, value, timestampMs));
  }

  sorted(): MetricFamily[] {
    return [...this.#families.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

/** Estimates how much of a thread's memory a copy of a pod takes. Pure. */
import type { Pod } from '../../shared/kubernetes/api.ts';

/** A pod that is heavier counts as this heavy. */
const maxWeight = 64 * 1024 * 1024;
/** The size of V8's header of an object, string or array, roughly. */
const headerBytes = 24;
/** The size of V8's pointer to one of these. */
const pointerBytes = 8;

/** By pod: a pod is copied for many tasks, and never changed. */
const weights = new WeakMap<Pod, number>();

/** Returns the weight in bytes. */
export function podWeight(pod: Pod): number {
  let weight = weights.get(pod);
  if (weight === undefined) {
    weight = weightOf(pod);
    weights.set(pod, weight);
  }
  return weight;
}

function weightOf(pod: Pod): number {
  const pending: unknown[] = [pod];
  let weight = 0;
  while (pending.length > 0 && weight < maxWeight) {
    const value = pending.pop();
    if (typeof value === 'string') weight += headerBytes + value.length;
    if (typeof value !== 'object' || value === null) continue;
    const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    weight += headerBytes + parts.length * pointerBytes;
    for (const part of parts) pending.push(part);
  }
  return Math.min(weight, maxWeight);
}

/** Chance that a test prints and can be told again: `KUBELET_TEST_SEED=7 npm test`. */
import { randomInt } from 'node:crypto';

/** The seed of this run: from the environment, or a new one. */
export function testSeed(): number {
  const asked = process.env['KUBELET_TEST_SEED'];
  return asked === undefined ? randomInt(2 ** 31) : Number(asked);
}

/** mulberry32: numbers in [0, 1), the same for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Pseudo-random numbers that a test can repeat with the seed that it prints: `FUZZ_SEED=7 npm test`. */
import { randomInt } from 'node:crypto';

/** Returns the seed of this run: `FUZZ_SEED`, or a new one when it is not set or `random`. */
export function testSeed(): number {
  const seed = process.env['FUZZ_SEED'] ?? 'random';
  return seed === 'random' ? randomInt(2 ** 31) : Number(seed);
}

/** Returns a mulberry32 generator of numbers in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

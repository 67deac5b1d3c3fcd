/** Waits for work of other threads, such as the generation of a key, in a test with a FakeClock. */
import { setTimeout as sleep } from 'node:timers/promises';
import { settle, type FakeClock } from '../fake-clock.ts';

/** Only a test that fails waits this long. */
const limitMs = 30_000;

export function until(what: string, condition: () => boolean): Promise<void> {
  return waitFor(what, condition, settle);
}

async function waitFor(what: string, condition: () => boolean, pass: () => Promise<void>): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`not reached: ${what}`);
    await pass();
    await sleep(1);
  }
  await settle();
}

/** The same, while time passes. */
export function advanceUntil(clock: FakeClock, what: string, condition: () => boolean): Promise<void> {
  return waitFor(what, condition, () => clock.advance(1000));
}

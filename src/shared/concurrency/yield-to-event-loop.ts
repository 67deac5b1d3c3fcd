/** Splits long work on main: call this between the parts of the work. */
import { setImmediate as afterInput } from 'node:timers/promises';

/** Resolves when pending timers and I/O callbacks have run, and one `setImmediate` that they scheduled. */
export async function yieldToEventLoop(): Promise<void> {
  await afterInput();
  await afterInput();
}

/** How a long piece of work on main is cut: each part in a round of the thread's loop of its own. */
import { setImmediate as afterInput } from 'node:timers/promises';

/** Resolves when timers and input that wait have had their turn. What input asks for by one `setImmediate` alone still runs before them. */
export async function yieldToEventLoop(): Promise<void> {
  await afterInput();
  await afterInput();
}

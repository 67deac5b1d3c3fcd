/** The environment of a kubelet under test. */
import { join } from 'node:path';

const preload = join(import.meta.dirname, '../preloads/fast-time.mjs');

/** The test's environment without its code cache: `bin/kubelet` has a cache of its own. */
export function kubeletEnvironment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE: _testCache, ...inherited } = process.env;
  return { ...inherited, ...more };
}

/** Lets time pass faster in the kubelet than on its host, for tests that wait for periods of a minute or more. */
export function fastTime(factor: number): { readonly NODE_OPTIONS: string; readonly TIME_FACTOR: string } {
  return { NODE_OPTIONS: `--import=${preload}`, TIME_FACTOR: String(factor) };
}

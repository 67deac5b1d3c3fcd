/** The container's environment, every reference resolved. */
import type { EnvironmentInput, EnvValue } from './types.ts';

/** Throws KubeletError `CreateContainerConfigError` when a value cannot be had. */
export function makeEnvironment(_input: EnvironmentInput): EnvValue[] {
  throw new Error('under construction');
}

/** What every group of rules gets, and the one way to word a complaint. */
import type { FeatureGates } from '../feature-gates.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';

/** What a rule may know of the host. */
export interface ValidatedHost {
  readonly cgroupVersion: 1 | 2;
}

export interface ValidationInput {
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGates;
  readonly host: ValidatedHost;
}

/** The complaints, one sentence each; none: all is well. */
export type ValidationRule = (input: ValidationInput) => string[];

export function invalid(message: string): string {
  return `invalid configuration: ${message}`;
}

/** Those complaints whose condition holds. */
export function collectErrors(...checks: readonly (readonly [isWrong: boolean, message: string])[]): string[] {
  return checks.filter(([isWrong]) => isWrong).map(([, message]) => invalid(message));
}

/** The message of what `attempt` throws, or undefined. */
export function failureOf(attempt: () => unknown): string | undefined {
  try {
    attempt();
    return undefined;
  } catch (err) {
    return (err as Error).message;
  }
}

/** `"a", "b" or "c"` */
export function quotedList(values: readonly string[]): string {
  const quoted = values.map((value) => `"${value}"`);
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1) ?? ''}`;
}

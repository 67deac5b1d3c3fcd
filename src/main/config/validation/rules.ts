/** The input and output of a group of validation rules, and the common wording of messages. */
import type { FeatureGates } from '../feature-gates.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';

/** The properties of the host that rules depend on. */
export interface ValidatedHost {
  readonly cgroupVersion: 1 | 2;
  /** A list such as `0-3`. Absent: not known. */
  readonly onlineCPUs?: string;
}

export interface ValidationInput {
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGates;
  readonly host: ValidatedHost;
}

/** Returns one message per problem. Empty: no problem. */
export type ValidationRule = (input: ValidationInput) => string[];

export function invalidConfiguration(message: string): string {
  return `invalid configuration: ${message}`;
}

/** Returns the messages whose condition holds. */
export function collectErrors(...checks: readonly (readonly [isWrong: boolean, message: string])[]): string[] {
  return checks.filter(([isWrong]) => isWrong).map(([, message]) => invalidConfiguration(message));
}

/** Returns the message of the error that `attempt` throws, or undefined. */
export function thrownMessage(attempt: () => unknown): string | undefined {
  try {
    attempt();
    return undefined;
  } catch (err) {
    return (err as Error).message;
  }
}

/** For example `"a", "b" or "c"`. */
export function quotedList(values: readonly string[]): string {
  const quoted = values.map((value) => `"${value}"`);
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1) ?? ''}`;
}

/** What the configuration is loaded from, at the start and for each reload. Plain data, because the thread that loads it for a reload gets a copy. */
import type { ValidatedHost } from './validation/rules.ts';

export interface ConfigurationInputs {
  /** The flags on the command line, by name. They override fields of the files. */
  readonly values: ReadonlyMap<string, unknown>;
  readonly host: ValidatedHost;
}

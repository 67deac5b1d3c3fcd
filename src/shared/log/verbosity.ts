/** klog's verbosity in pino's levels, for a thread and for one component of it. */
import type { LoggingOptions } from './logger.ts';

export type Level = 'info' | 'debug' | 'trace';

/** The verbosity at which klog would say what pino says at a level: the `v` of the JSON format. */
export const verbosityOfLevel: Readonly<Record<Level, number>> = { info: 0, debug: 4, trace: 6 };

/**
 * The level down to which a component logs. As in klog, the first pattern that matches counts, and it can only raise the
 * verbosity above -v.
 */
export function levelFor(options: Pick<LoggingOptions, 'verbosity' | 'vmodule'>, component: string): Level {
  const own = options.vmodule.find(({ pattern }) => toExpression(pattern).test(component));
  const verbosity = Math.max(options.verbosity, own?.verbosity ?? 0);
  if (verbosity >= verbosityOfLevel.trace) return 'trace';
  return verbosity >= verbosityOfLevel.debug ? 'debug' : 'info';
}

function toExpression(pattern: string): RegExp {
  const literal = pattern.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
  const source = literal.replaceAll('*', '.*').replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's');
}

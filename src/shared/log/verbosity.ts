/** Converts klog's verbosity to pino's levels, for a component. */
import type { LoggingOptions } from './logger.ts';

export type Level = 'info' | 'debug' | 'trace';

/** klog's verbosity for each level of pino: the `v` of the JSON format. */
export const verbosityOfLevel: Readonly<Record<Level, number>> = { info: 0, debug: 4, trace: 6 };

/** The lowest level that a component logs. As in klog, the first matching pattern counts, and can only raise the verbosity above -v. */
export function levelFor(options: Pick<LoggingOptions, 'verbosity' | 'vmodule'>, component: string): Level {
  const module = options.vmodule.find(({ pattern }) => toExpression(pattern).test(component));
  const verbosity = Math.max(options.verbosity, module?.verbosity ?? 0);
  if (verbosity >= verbosityOfLevel.trace) return 'trace';
  return verbosity >= verbosityOfLevel.debug ? 'debug' : 'info';
}

function toExpression(pattern: string): RegExp {
  const literal = pattern.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
  const source = literal.replaceAll('*', '.*').replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's');
}

/** Converts the logging configuration to the options that every thread gets in its worker data. */
import type { LoggingOptions } from '../../shared/log/logger.ts';
import type { LoggingConfiguration } from './kubelet-configuration.ts';

export function toLoggingOptions({ format, verbosity, vmodule, options }: LoggingConfiguration): LoggingOptions {
  const json = format === 'json';
  return {
    format: json ? 'json' : 'text',
    verbosity,
    vmodule: vmodule.map(({ filePattern, verbosity: own }) => ({ pattern: filePattern, verbosity: own })),
    splitStream: (json ? options.json : options.text).splitStream,
  };
}

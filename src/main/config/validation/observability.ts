/** Rules for logs, traces and metrics (upstream: component-base's logs, tracing and metrics APIs; validation.go for podLogsDir). */
import { posix } from 'node:path';
import { isZeroQuantity } from '../../../shared/kubernetes/quantity.ts';
import { previousMinor } from '../../../shared/kubernetes/version.ts';
import { formatDuration } from '../../../shared/kubernetes/duration.ts';
import type { LoggingConfiguration, TracingConfiguration } from '../kubelet-configuration.ts';
import type { FeatureGates } from '../feature-gates.ts';
import { collectErrors, invalidConfiguration, type ValidationRule } from './rules.ts';

/** Upstream's verbosity is an int32. */
const maxVerbosity = 2 ** 31 - 1;

/** Formats like upstream's field errors: `path: Invalid value: value: why`. */
function invalidField(path: string, value: string | number, reason: string): string {
  return `${path}: Invalid value: ${JSON.stringify(value)}: ${reason}`;
}

function checkLogging({ format, flushFrequency, verbosity, vmodule, options }: LoggingConfiguration, gates: FeatureGates): string[] {
  const tooHighMessage = `Must be <= ${maxVerbosity}`;
  const alpha = (path: string, set: boolean): string[] =>
    set && !gates.enabled('LoggingAlphaOptions') ? [`${path}: Forbidden: Feature LoggingAlphaOptions is disabled`] : [];
  return [
    ...(flushFrequency <= 0 ? [invalidField('logging.flushFrequency', formatDuration(flushFrequency), 'Must be greater than zero')] : []),
    ...(['text', 'json'].includes(format) ? [] : [invalidField('logging.format', format, 'Unsupported log format')]),
    ...(format === 'json' && !gates.enabled('LoggingBetaOptions')
      ? ['logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature']
      : []),
    ...(verbosity > maxVerbosity ? [invalidField('logging.verbosity', verbosity, tooHighMessage)] : []),
    ...(vmodule.length > 0 && format !== 'text' ? ['logging.vmodule: Forbidden: Only supported for text log format'] : []),
    ...vmodule.flatMap((item, index) => [
      ...(item.filePattern === '' ? [`logging.vmodule[${index}]: Required value: File pattern must not be empty`] : []),
      ...(/[=,]/.test(item.filePattern)
        ? [invalidField(`logging.vmodule[${index}]`, item.filePattern, 'File pattern must not contain equal sign or comma')]
        : []),
      ...(item.verbosity > maxVerbosity ? [invalidField(`logging.vmodule[${index}]`, item.verbosity, tooHighMessage)] : []),
    ]),
    ...(['text', 'json'] as const).flatMap((each) => [
      ...alpha(`logging.options.${each}.splitStream`, options[each].splitStream),
      ...alpha(`logging.options.${each}.infoBufferSize`, !isZeroQuantity(options[each].infoBufferSize)),
    ]),
  ];
}

function checkTracing(tracing: TracingConfiguration | null): string[] {
  const rate = tracing?.samplingRatePerMillion ?? 0;
  const endpoint = tracing?.endpoint ?? null;
  return [
    ...(rate < 0 ? [invalidField('tracing.samplingRatePerMillion', rate, 'sampling rate must be positive')] : []),
    ...(rate > 1_000_000
      ? [invalidField('tracing.samplingRatePerMillion', rate, 'sampling rate per million must be less than or equal to one million')]
      : []),
    ...(endpoint === null ? [] : checkEndpoint(endpoint)),
  ];
}

function checkEndpoint(endpoint: string): string[] {
  if (!endpoint.includes('//')) return [];
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(endpoint)?.[1] ?? '';
  if (['dns', 'unix', 'unix-abstract'].includes(scheme)) return [];
  return [invalidField('tracing.endpoint', endpoint, `unsupported scheme: ${scheme}.  Options are none, dns, unix, or unix-abstract`)];
}

export const checkObservability: ValidationRule = ({ config, gates }) => {
  const { podLogsDir, showHiddenMetricsForVersion: hidden } = config;
  return [
    ...(hidden === '' || hidden === previousMinor
      ? []
      : [
          `invalid showHiddenMetricsForVersion: ${invalidField(
            'showHiddenMetricsForVersion',
            hidden,
            `must be omitted or have the value '${previousMinor}'; only the previous minor version is allowed`,
          )}`,
        ]),
    ...checkLogging(config.logging, gates),
    ...checkTracing(config.tracing),
    ...(podLogsDir === ''
      ? [invalidConfiguration('podLogsDir was not specified')]
      : collectErrors(
          [!posix.isAbsolute(podLogsDir), `pod logs path "${podLogsDir}" must be absolute path`],
          [cleanPath(podLogsDir) !== podLogsDir, `pod logs path "${podLogsDir}" must be normalized`],
          // The path becomes a label of metrics.
          // oxlint-disable-next-line no-control-regex -- ASCII is what is meant
          [!/^[\x00-\x7f]*$/.test(podLogsDir), `pod logs path "${podLogsDir}" must contain ASCII characters only`],
        )),
  ];
};

/** Like Go's filepath.Clean: normalizes and removes a trailing slash. */
function cleanPath(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
}

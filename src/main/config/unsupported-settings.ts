/**
 * Settings of features that are not implemented yet. They are read and validated like all others, and logged once at start, so that an
 * operator does not rely on them. Remove the entries of a feature when it is implemented.
 */
import { isMap } from './field-codecs.ts';

interface UnsupportedSettings {
  /** The missing feature. */
  readonly feature: string;
  /** Field paths of the configuration. A path includes all fields below it. */
  readonly fields?: readonly string[];
  /** Flags without a configuration field. */
  readonly flags?: readonly string[];
}

export const unsupportedSettings: readonly UnsupportedSettings[] = [
  {
    // The API client always uses JSON.
    feature: 'other encodings than JSON',
    fields: ['contentType'],
  },
  // Go's contention profile measures how long goroutines wait for locks.
  { feature: 'profiles of contention', fields: ['enableContentionProfiling'] },
  {
    feature: 'the CPU, memory and topology managers',
    fields: [
      'cpuManagerPolicy',
      'cpuManagerPolicyOptions',
      'cpuManagerReconcilePeriod',
      'memoryManagerPolicy',
      'reservedMemory',
      'reservedSystemCPUs',
      'topologyManagerPolicy',
      'topologyManagerPolicyOptions',
      'topologyManagerScope',
    ],
  },
  {
    feature: 'volumes of plugins',
    fields: ['volumePluginDir'],
    flags: ['experimental-mounter-path'],
  },
  {
    feature: 'the host’s bridge',
    fields: ['hairpinMode'],
  },
  {
    feature: 'hidden metrics, buffered logs',
    fields: [
      'showHiddenMetricsForVersion',
      'logging.flushFrequency',
      'logging.options.text.infoBufferSize',
      'logging.options.json.infoBufferSize',
    ],
  },
  // Containers are measured in a fixed period.
  { feature: 'the period of measurements', flags: ['housekeeping-interval'] },
];

/**
 * Returns the explicit settings without effect: fields by path, flags with their dashes. A field that turns its feature off (false, zero,
 * empty, "none") is not included.
 *
 * @param wire the fields that the file and the drop-ins set, as JSON, without defaults
 * @param flags the flags on the command line: the name, and the field that the flag sets or undefined
 */
export function findUnsupportedSettings(wire: unknown, flags: ReadonlyMap<string, string | undefined>): string[] {
  return unsupportedSettings.flatMap(({ fields = [], flags: names = [] }) => [
    ...fields.filter((path) => enablesFeature(valueAt(wire, path))),
    ...[...flags]
      .filter(
        ([name, field]) =>
          names.includes(name) || (field !== undefined && fields.some((path) => field === path || field.startsWith(`${path}.`))),
      )
      .map(([name]) => `--${name}`),
  ]);
}

function valueAt(wire: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((parent, name) => (isMap(parent) && Object.hasOwn(parent, name) ? parent[name] : undefined), wire);
}

function enablesFeature(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(enablesFeature);
  if (isMap(value)) return Object.values(value).some(enablesFeature);
  return ![undefined, null, false, 0, '', '0', '0s', 'none', 'None'].includes(value as string);
}

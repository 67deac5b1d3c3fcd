/**
 * Returns the effective value of every flag for `/flagz`, from flags, file and defaults, in command line syntax (upstream:
 * component-base/zpages/flagz with pflag's String of each value). Pure.
 */
import { formatDuration } from '../../../shared/kubernetes/duration.ts';
import { isMap } from '../field-codecs.ts';
import { stripURLCredentials } from '../strip-url-credentials.ts';
import type { KubeletOptions } from '../options.ts';
import { flagTable, type FlagSpec } from './flag-table.ts';

/** Flags whose value may contain credentials. The placeholder is upstream's. */
const secretFlags = new Set(['manifest-url-header']);
const classified = 'CLASSIFIED';

export function flagValues({ flags, config: loaded }: Pick<KubeletOptions, 'flags' | 'config'>): Record<string, string> {
  const config = { ...loaded, staticPodURL: stripURLCredentials(loaded.staticPodURL) };
  const values: Record<string, string> = {};
  for (const spec of flagTable) {
    const { name, field, setting } = spec;
    if (field === undefined && setting === undefined) continue;
    const value = setting === undefined ? valueAt(config, field!.split('.')) : valueAt(flags, [setting]);
    values[name] = secretFlags.has(name) && textOf(spec, value) !== '' ? classified : textOf(spec, value);
  }
  return values;
}

function valueAt(object: object, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (isMap(value) ? value[name] : undefined), object);
}

function textOf({ type }: Pick<FlagSpec, 'type'>, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (type === 'duration') return formatDuration(value as number);
  if (type === 'vmodule')
    return (value as { filePattern: string; verbosity: number }[]).map((item) => `${item.filePattern}=${item.verbosity}`).join(',');
  if (Array.isArray(value)) return `[${value.map(plain).join(',')}]`;
  if (isMap(value)) {
    const pairs = Object.entries(value).map(([key, each]) => `${key}=${plain(each)}`);
    return pairs.sort().join(',');
  }
  return plain(value);
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Renders the text of --help: every flag with its group, type, default and description. */
import { formatDuration } from '../../../shared/kubernetes/duration.ts';
import { applyDefaults, legacyDefaults } from '../defaults.ts';
import { computeFeatureGates } from '../feature-gates.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { flagGroups, type FlagSpec } from './flag-table.ts';
import { flagTypes } from './flag-types.ts';

const introduction = `The kubelet is the agent of a Kubernetes node: it runs the pods that the API server, a folder of files or a URL names, through
any container runtime that speaks CRI v1, and reports how they are.`;

/** Returns the text with lines of at most `width` characters, except for longer words. */
export function helpText(width: number): string {
  const defaults = applyDefaults(legacyDefaults(), computeFeatureGates({}).gates);
  const groups = flagGroups.map(({ title, flags }) => `${title}:\n${flags.map((flag) => describeFlag(flag, defaults, width)).join('\n')}`);
  return `${introduction}\n\nUsage:\n  kubelet [flags]\n\n${groups.join('\n\n')}\n`;
}

const indent = '        ';

function describeFlag(flag: FlagSpec, defaults: KubeletConfiguration, width: number): string {
  const shorthand = flag.shorthand === undefined ? '    ' : `-${flag.shorthand}, `;
  const type = flagTypes[flag.type].helpName;
  const value = shownDefault(flag, defaults);
  const configurationNote = flag.field === undefined ? '' : ` Field of the configuration: ${flag.field}.`;
  const notes = `${value === '' ? '' : ` (default ${value})`}${flag.deprecated === undefined ? '' : ` Deprecated.${configurationNote}`}`;
  const head = `  ${shorthand}--${flag.name}${type === '' ? '' : ` ${type}`}`;
  return `${head}\n${wrap(`${flag.help}${notes}`, width - indent.length)}`;
}

function shownDefault({ field, helpDefault: shown, type }: FlagSpec, defaults: KubeletConfiguration): string {
  if (field === undefined) return shown ?? '';
  const value = field.split('.').reduce<unknown>((fields, name) => (fields as Record<string, unknown>)[name], defaults);
  if (type === 'duration') return formatDuration(value as number);
  if (Array.isArray(value)) return value.length === 0 ? '' : `[${value.join(',')}]`;
  if (typeof value === 'object' || value === '' || value === false || value === 0 || value === '0') return '';
  return typeof value === 'string' ? `"${value}"` : JSON.stringify(value);
}

function wrap(text: string, width: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + word.length < width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => `${indent}${line}`).join('\n');
}

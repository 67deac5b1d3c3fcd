/** The differences of two versions as Markdown, for a person. Pure. */
import type { Difference } from './compute-differences.ts';

/** In the order in which a reader meets them, with what a row of each is. */
const titles: Readonly<Record<string, string>> = {
  gates: 'Feature gates',
  flags: 'Flags',
  configuration: 'Fields of configuration files',
  defaults: 'Default values that are set',
  types: 'Fields and values of API objects',
  protobuf: 'CRI and the protocols of plugins',
  metrics: 'Metrics',
  reasons: 'Reasons of events, statuses and conditions',
  endpoints: 'Paths of the kubelet’s servers',
  constants: 'Constants of the kubelet’s packages',
  images: 'Images of upstream’s suites',
  modules: 'Required modules',
};
/** A value may be a table in the source. */
const maxLength = 200;

export function differenceText(before: string, after: string, differences: ReadonlyMap<string, readonly Difference[]>): string {
  const kinds = [...Object.keys(titles), ...[...differences.keys()].filter((kind) => !Object.hasOwn(titles, kind))];
  const sections = kinds.map((kind) => ({ title: titles[kind] ?? kind, rows: differences.get(kind) ?? [] }));
  const counts = sections.map(
    ({ title, rows }) => `| ${title} | ${count(rows, 'added')} | ${count(rows, 'changed')} | ${count(rows, 'removed')} |`,
  );
  return [
    `# What differs between Kubernetes ${before} and ${after}`,
    `| kind | added | changed | removed |\n|---|---|---|---|\n${counts.join('\n')}`,
    ...sections.filter(({ rows }) => rows.length > 0).map(({ title, rows }) => sectionText(title, before, after, rows)),
  ].join('\n\n');
}

function sectionText(title: string, before: string, after: string, rows: readonly Difference[]): string {
  const lines = rows.map((row) => `| ${nameOf(row)} | ${cell(row.before)} | ${cell(row.after)} | ${cell(row.in)} |`);
  return `## ${title}\n\n| name | ${before} | ${after} | where |\n|---|---|---|---|\n${lines.join('\n')}`;
}

function nameOf({ name, renamedTo }: Difference): string {
  if (renamedTo === undefined) return cell(name);
  return `${cell(name)} → ${cell(renamedTo.slice(renamedTo.lastIndexOf('.') + 1))}`;
}

function count(rows: readonly Difference[], change: 'added' | 'changed' | 'removed'): number {
  return rows.filter(({ before, after }) => change === (before === undefined ? 'added' : after === undefined ? 'removed' : 'changed'))
    .length;
}

/** Code, so that Markdown leaves it as it is. */
function cell(text: string | undefined): string {
  if (text === undefined) return '–';
  const short = text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
  return `\`${short.replaceAll('`', '’').replaceAll('|', '\\|').replaceAll('\n', ' ')}\``;
}

/**
 * Checks docs/pod-spec.md: each field of a pod in the API has exactly one row, each row names existing fields, and a row that says
 * "works" or "refused" names an existing test whose file mentions its fields. The fields come from upstream's Go types.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GoType } from '../src/workers/pod-sync/manifest/static-pod-uid/go-type.ts';
import { goTypes } from '../src/workers/pod-sync/manifest/static-pod-uid/generated/go-types.ts';

const docPath = 'docs/pod-spec.md';
const states = ['works', 'refused', 'later', 'ignored'];
export type PodFields = ReadonlyMap<string, readonly string[]>;

/** Returns the JSON names of the fields of Pod and of each type within it, by type, such as `Container`. */
export function podFields(): PodFields {
  const found = new Map<string, readonly string[]>();
  const visit = (reference: string) => {
    // Of a pointer, a list or a map: *T, []T, map[string]T.
    const goName = reference.replace(/^(?:\*|\[\]|map\[[^\]]*\])+/, '');
    const type = Object.hasOwn(goTypes, goName) ? goTypes[goName] : undefined;
    const name = goName.replace(/^\w+\./, '');
    if (!type || found.has(name)) return;
    if ('of' in type) visit(type.of);
    const fields = fieldsOf(type);
    if (fields.length === 0) return;
    found.set(name, name === 'Pod' ? ['apiVersion', 'kind', ...fields.map(([json]) => json)] : fields.map(([json]) => json));
    for (const [, fieldType] of fields) visit(fieldType);
  };
  visit('core.Pod');
  return found;
}

/** The fields of an embedded type are fields of the type. */
function fieldsOf(type: GoType | undefined): readonly (readonly [json: string, type: string])[] {
  if (type?.kind !== 'struct') return [];
  return type.fields.flatMap(([, fieldType, json]) => {
    if (json === undefined) return [];
    return json === '...' ? fieldsOf(goTypes[fieldType]) : [[json, fieldType] as const];
  });
}

export interface PodSpecTable {
  readonly doc: string;
  readonly fields: PodFields;
  /** Reads a test file by its path below test/. Returns undefined when it does not exist. */
  readonly read: (file: string) => string | undefined;
}

interface Row {
  readonly types: readonly string[];
  /** `all` stands for every field. */
  readonly names: readonly string[];
  readonly state: string;
  readonly proof: string;
}

/** Returns one line for each problem. */
export function findPodSpecProblems({ doc, fields, read }: PodSpecTable): readonly string[] {
  const rows = rowsOf(doc);
  const unknown = rows.flatMap(({ types, names }) =>
    types.flatMap((type) => {
      const known = fields.get(type);
      if (!known) return [`the API has no type ${type} within a pod`];
      return names.filter((name) => name !== 'all' && !known.includes(name)).map((name) => `${type} has no field ${name}`);
    }),
  );
  const counts = [...fields].flatMap(([type, names]) =>
    names.flatMap((name) => {
      const count = rows.filter((row) => row.types.includes(type) && (row.names.includes(name) || row.names.includes('all'))).length;
      return count === 1 ? [] : [`${type}.${name} has ${count} rows instead of one`];
    }),
  );
  return [...unknown, ...counts, ...rows.flatMap((row) => findRowProblems(row, read))];
}

/** A heading `### A, B` names the types of the table that follows it. */
function rowsOf(doc: string): Row[] {
  const rows: Row[] = [];
  let types: string[] = [];
  for (const line of doc.split('\n')) {
    if (line.startsWith('#')) types = line.startsWith('### ') ? line.slice(4).split(', ') : [];
    const [names = '', state = '', proof = ''] = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (!line.startsWith('|') || types.length === 0 || names === 'field' || names.startsWith('---')) continue;
    rows.push({ types, names: names.split(', ').map((name) => name.replaceAll('`', '')), state, proof });
  }
  return rows;
}

function findRowProblems({ types, names, state, proof }: Row, read: PodSpecTable['read']): string[] {
  const subject = `${types.join(', ')}: ${names.join(', ')}`;
  if (!states.includes(state)) return [`${subject}: the state is "${state}" instead of one of ${states.join(', ')}`];
  if (proof === '') return [`${subject}: no test, or no part`];
  if (state === 'later' || state === 'ignored') return [];
  const [file = '', test = ''] = proof.split(/: (.*)/);
  const source = read(file);
  if (source === undefined) return [`${subject}: there is no test/${file}`];
  const quoted = ["'", '"', '`'].flatMap((quote) => ['test', 'table'].map((call) => `${call}(${quote}${test}${quote}`));
  if (!quoted.some((text) => source.includes(text))) return [`${subject}: test/${file} has no test named "${test}" (as its source has it)`];
  const missing = names.filter((name) => name !== 'all' && !new RegExp(`\\b${name}\\b`).test(source));
  return missing.map((name) => `${subject}: test/${file} never mentions ${name}`);
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  const read = (file: string): string | undefined => {
    try {
      return readFileSync(join(root, 'test', file), 'utf8');
    } catch {
      return undefined;
    }
  };
  const problems = findPodSpecProblems({ doc: readFileSync(join(root, docPath), 'utf8'), fields: podFields(), read });
  for (const problem of problems) console.error(`${docPath}: ${problem}`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

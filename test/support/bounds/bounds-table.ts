/** Reads the tables of docs/bounds.md, and finds what they lack. Pure. */

export interface BoundRow {
  readonly section: string;
  readonly entrances: readonly string[];
  readonly bound: string;
  readonly enforcers: readonly { readonly file: string; readonly names: readonly string[] }[];
  readonly multiplied: string;
}

/** Columns: entrances, bound, enforced in, multiplied. Names are in backticks. */
export function parseBounds(doc: string): readonly BoundRow[] {
  const rows: BoundRow[] = [];
  let section = '';
  for (const line of doc.split('\n')) {
    if (line.startsWith('## ')) section = line.slice(3);
    if (!line.startsWith('| ') || line.startsWith('| entrance ')) continue;
    const [, entrances = '', bound = '', enforced = '', multiplied = ''] = line.split('|').map((cell) => cell.trim());
    rows.push({ section, entrances: quoted(entrances), bound, enforcers: enforced.split(';').map(toEnforcer), multiplied });
  }
  return rows;
}

function toEnforcer(text: string): { file: string; names: readonly string[] } {
  const [file = '', ...names] = quoted(text);
  return { file, names };
}

function quoted(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

export interface BoundsInput {
  readonly rows: readonly BoundRow[];
  /** What needs a row, by section. */
  readonly entrances: ReadonlyMap<string, readonly string[]>;
  /** Returns the text of a file below src/, or undefined. */
  readonly read: (file: string) => string | undefined;
}

/** Returns what is wrong with the tables, in words. */
export function findBoundsProblems({ rows, entrances, read }: BoundsInput): readonly string[] {
  const problems: string[] = [];
  for (const [section, names] of entrances) {
    const listed = rows.filter((row) => row.section === section).flatMap((row) => row.entrances);
    for (const name of names) {
      const count = listed.filter((other) => other === name).length;
      if (count !== 1) problems.push(`${section}: ${name} has ${count} rows instead of one`);
    }
    for (const name of listed) if (!names.includes(name)) problems.push(`${section}: there is no ${name}`);
  }
  for (const row of rows) {
    const title = `${row.section}: ${row.entrances[0] ?? '?'}`;
    if (!entrances.has(row.section)) problems.push(`${title}: the section is unknown`);
    if (row.bound === '' || row.multiplied === '') problems.push(`${title}: a cell is empty`);
    for (const { file, names } of row.enforcers) {
      const text = read(file);
      if (text === undefined) problems.push(`${title}: no file ${file}`);
      else for (const name of names) if (!declares(text, name)) problems.push(`${title}: ${file} has no ${name}`);
    }
  }
  return problems;
}

/** A constant, a property or a function of this name. */
function declares(text: string, name: string): boolean {
  return new RegExp(`\\b(?:const|let|function|class) ${name}\\b|\\b${name}\\??:|\\b${name}\\(`).test(text);
}

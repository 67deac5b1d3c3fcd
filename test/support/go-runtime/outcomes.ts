/** The table of docs/go-runtime.md, whose rows the contract suite asserts: what each kubelet does under each condition. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isGo } from './program.ts';

const document = join(import.meta.dirname, '../../../docs/go-runtime.md');

interface Row {
  readonly condition: string;
  readonly go: string;
  /** Empty: as Go's. */
  readonly own: string;
}

const plain = (cell: string) => cell.replaceAll('`', '').trim();

function readRows(): ReadonlyMap<string, Row> {
  const rows = readFileSync(document, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split(' | ').map((cell) => plain(cell.replaceAll(/^\| | \|$/g, ''))))
    .map(([condition = '', go = '', own = '']) => ({ condition, go, own }));
  return new Map(rows.map((row) => [row.condition, row]));
}

const rows = readRows();
const asserted = new Set<string>();

/** Asserts that the kubelet under test does what its column says. The Go kubelet's is printed, so that the column is copied and not guessed. */
export function assertOutcome(condition: string, seen: string): void {
  assert.ok(!asserted.has(condition), `${condition}: asserted twice`);
  asserted.add(condition);
  if (isGo) console.log(`OUTCOME | ${condition} | ${seen}`);
  const row = rows.get(plain(condition));
  assert.ok(row, `docs/go-runtime.md has no row "${condition}", which gave: ${seen}`);
  assert.equal(plain(seen), isGo || row.own === 'the same' ? row.go : row.own, condition);
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flagTable } from '../../../../src/main/flags/flag-table.ts';
import { helpText } from '../../../../src/main/flags/help.ts';

test('help names every flag, with its default and the field that is set instead', () => {
  const text = helpText(100);
  for (const { name } of flagTable) assert.match(text, new RegExp(`--${name}(?: |\n)`), name);
  assert.match(
    text,
    /--max-pods int32\n {8}How many pods this node takes\. \(default 110\) Deprecated\. Field of the configuration:\n {8}maxPods\./,
  );
  assert.match(text, /-v, --v level\n/);
});

test('help has no line longer than the terminal', () => {
  for (const line of helpText(80).split('\n').slice(4)) assert.ok(line.length <= 80 || !line.trim().includes(' '), line);
});

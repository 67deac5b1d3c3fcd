import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flagTable } from '../../../../../src/main/config/flags/flag-table.ts';
import { helpText } from '../../../../../src/main/config/flags/help.ts';

test('help lists every flag with its default and its configuration field', () => {
  const text = helpText(100);
  for (const { name } of flagTable) assert.match(text, new RegExp(`--${name}(?: |\n)`), name);
  assert.match(
    text,
    /--max-pods int32\n {8}How many pods this node takes\. \(default 110\) Deprecated\. Field of the configuration:\n {8}maxPods\./,
  );
  assert.match(text, /-v, --v level\n/);
});

test('help wraps lines at the width of the terminal', () => {
  for (const line of helpText(80).split('\n').slice(4)) assert.ok(line.length <= 80 || !line.trim().includes(' '), line);
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodePod } from '../../../../../src/workers/server/pods-api/encode-pod.ts';
import { table } from '../../../../support/table.ts';

interface Vector {
  readonly json: { readonly metadata?: { readonly name?: string } };
  /** Base64: what Go's types have made of the JSON. */
  readonly protobuf: string;
}
const vectors = readFileSync(join(import.meta.dirname, 'pod-protobuf-vectors.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Vector);

table('a pod has the bytes that Go’s types give it', (row) => {
  for (const { json, protobuf } of vectors) {
    row(json.metadata?.name ?? 'no name', () => assert.equal(Buffer.from(encodePod(json)).toString('latin1'), atob(protobuf)));
  }
});

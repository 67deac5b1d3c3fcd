import assert from 'node:assert/strict';
import { jsonCodec } from '../../../../../src/main/api/http/wire-codec.ts';
import { readEvents } from '../../../../../src/main/api/http/watch-events.ts';
import { table } from '../../../../support/table.ts';

const event = (type: string, name: string) => ({ type, object: { metadata: { name } } });
const line = (type: string, name: string) => `${JSON.stringify(event(type, name))}\n`;

/** Returns the names of the events, then the message of the error that ended the watch. */
async function read(chunks: readonly (string | Buffer)[], maxBytes?: number): Promise<string[]> {
  async function* stream() {
    for (const chunk of chunks) yield Buffer.from(chunk);
  }
  const seen: string[] = [];
  try {
    for await (const { type, object, problem } of readEvents<{ metadata?: { name: string } }>(stream(), jsonCodec, { maxBytes }))
      seen.push(problem === undefined ? `${type} ${object.metadata?.name}` : `${type} ${JSON.stringify(object)}: ${problem}`);
  } catch (err) {
    seen.push((err as Error).message);
  }
  return seen;
}

/** As a server writes it: the metadata is in the order of its Go type. */
const large = (type: string, name: string) =>
  `{"type":"${type}","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${name}","namespace":"default","uid":"uid-${name}","resourceVersion":"7"},"spec":{"x":"${'\\u003c'.repeat(400)}"}}}\n`;
const skipped = (type: string, name: string) =>
  `${type} {"metadata":{"name":"${name}","uid":"uid-${name}","namespace":"default","resourceVersion":"7"}}: it has ${large(type, name).length - 1} bytes in JSON, more than 1000`;

const both = Buffer.from(line('ADDED', 'ä') + line('DELETED', 'b'));
const cases: { name: string; chunks: (string | Buffer)[]; maxBytes?: number; want: string[] }[] = [
  { name: 'two events in one chunk', chunks: [both], want: ['ADDED ä', 'DELETED b'] },
  { name: 'one chunk per byte', chunks: [...both].map((byte) => Buffer.of(byte)), want: ['ADDED ä', 'DELETED b'] },
  { name: 'empty lines and line breaks of proxies', chunks: ['\n\r\n', line('ADDED', 'a'), '\r\n'], want: ['ADDED a'] },
  { name: 'a last event without a newline', chunks: [line('ADDED', 'a').trim()], want: ['ADDED a'] },
  {
    name: 'an end in the middle of an event',
    chunks: [line('ADDED', 'a'), '{"type":"ADD'],
    want: ['ADDED a', 'ended in the middle of an event'],
  },
  { name: 'the page of a proxy', chunks: ['<html>\n'], want: ['has a line that is no event'] },
  { name: 'JSON that is not an event', chunks: ['{"type":"RENAMED","object":{}}\n'], want: ['has a line that is no event'] },
  { name: 'an event without an object', chunks: ['{"type":"ADDED"}\n'], want: ['has a line that is no event'] },
  { name: 'a line without a newline', chunks: Array(1000).fill('xxxxxxxx'), maxBytes: 100, want: ['has an event of more than 100 bytes'] },
  {
    name: 'a line that is too long and no event',
    chunks: [`${'x'.repeat(200)}\n`],
    maxBytes: 100,
    want: ['has an event of more than 100 bytes'],
  },
  {
    name: 'objects that are too large between others',
    chunks: [line('ADDED', 'a'), large('MODIFIED', 'b'), line('ADDED', 'c'), large('DELETED', 'd')],
    maxBytes: 1000,
    want: ['ADDED a', skipped('MODIFIED', 'b'), 'ADDED c', skipped('DELETED', 'd')],
  },
  {
    name: 'an object that is too large, one chunk per byte',
    chunks: [...Buffer.from(large('MODIFIED', 'b') + line('ADDED', 'c'))].map((byte) => Buffer.of(byte)),
    maxBytes: 1000,
    want: [skipped('MODIFIED', 'b'), 'ADDED c'],
  },
  {
    name: 'an object that is too large and not complete',
    chunks: [line('ADDED', 'a'), large('MODIFIED', 'b').slice(0, 1500)],
    maxBytes: 1000,
    want: ['ADDED a', 'ended in the middle of an event'],
  },
];
table('a watch is parsed to events', (row) => {
  for (const { name, chunks, maxBytes, want } of cases) {
    row(`a watch of ${name}`, async () => assert.deepEqual(await read(chunks, maxBytes), want));
  }
});

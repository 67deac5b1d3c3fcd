import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManifestSyntaxError, parseDocument } from '../../../../../src/workers/pod-sync/manifest/parse-document.ts';
import { table } from '../../../../support/table.ts';

const parse = (text: string) => parseDocument(new TextEncoder().encode(text));

const scalars: readonly [written: string, value: unknown][] = [
  ['yes', true],
  ['n', false],
  ['Off', false],
  ['"yes"', 'yes'],
  ['0644', 420],
  ['0o17', 15],
  ['08', 8],
  ['0x1F', 31],
  ['0b101', 5],
  ['-0b11', -3],
  ['1_000', 1000],
  ['+5', 5],
  ['1:30', '1:30'],
  ['2001-12-14', '2001-12-14'],
  ['1.2.3', '1.2.3'],
  ['.5', 0.5],
  ['1e3', 1000],
  ['500m', '500m'],
  ['~', null],
  ['', null],
  ['!!str 5', '5'],
];
table('a scalar is parsed like in Go’s YAML', (row) => {
  for (const [written, value] of scalars) {
    row(`a manifest's scalar ${JSON.stringify(written)} is parsed like in Go's YAML`, () => {
      assert.deepEqual(parse(`a: ${written}`), { a: value });
    });
  }
});

test('UTF-8 with and without a byte order mark and UTF-16 with one are text, other bytes are not', () => {
  const utf16 = Buffer.from('\ufeffa: é', 'utf16le');
  const texts = [Buffer.from('a: é'), Buffer.from('\ufeffa: é'), utf16, Buffer.from(utf16).swap16()];
  assert.deepEqual(
    texts.map((bytes) => parseDocument(bytes)),
    texts.map(() => ({ a: 'é' })),
  );
  assert.deepEqual(parseDocument(Buffer.from('\ufeff{"a": 1}', 'utf16le')), { a: 1 });
  for (const bytes of [Buffer.from('a: é', 'latin1'), utf16.subarray(2), utf16.subarray(0, -1)]) {
    assert.throws(() => parseDocument(bytes), ManifestSyntaxError);
  }
});

test('JSON is parsed as JSON, and YAML that resembles JSON as YAML', () => {
  assert.deepEqual(parse('{"a": [1, "\\u00e9"]}'), { a: [1, 'é'] });
  assert.deepEqual(parse('{a: [1, b]}'), { a: [1, 'b'] });
});

test('only the first document is parsed', () => {
  assert.deepEqual(parse('# the pod\n---\na: 1\n---\n: : ['), { a: 1 });
});

test('the last of two equal keys wins', () => {
  assert.deepEqual(parse('a: 1\na: 2'), { a: 2 });
});

test('anchors and merge keys are resolved', () => {
  assert.deepEqual(parse('a: &x {c: 1, d: 2}\nb: {<<: *x, d: 3}'), { a: { c: 1, d: 2 }, b: { c: 1, d: 3 } });
});

test('a key cannot reach the prototype', () => {
  const value = parse('__proto__: {polluted: true}') as Record<string, unknown>;
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

const bomb = ['a', 'b', 'c', 'd', 'e', 'f'].map((name, index) => {
  const element = index === 0 ? 'x' : `*${'abcdef'[index - 1]}`;
  return `${name}: &${name} [${Array(10).fill(element).join(',')}]`;
});
const malicious: readonly [what: string, content: string | Uint8Array, why: RegExp][] = [
  ['binary', new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe]), /not UTF-8/],
  ['text with NUL', 'a: 1\nb: x\0y', /line 2: control characters/],
  ['an alias bomb', bomb.join('\n'), /alias/i],
  ['a cycle', 'a: &a {b: [*a]}', /contains itself/],
  ['an unknown alias', 'a: *b', /alias/i],
  ['too many aliases', `a: &a x\nb: [${'*a,'.repeat(1001)}]`, /aliases/],
  ['deep nesting', '['.repeat(2500), /nested too deeply/],
  ['an open bracket', 'a: [1, 2', /line 1/],
  ['a tab as indentation', 'a:\n\tb: 1', /line 2: Tabs/],
];
test('a manifest with too many tokens is rejected before parsing', () => {
  const commas = (count: number) => new TextEncoder().encode(`[${','.repeat(count)}]`);
  assert.throws(() => parseDocument(commas(1000), 1000), /^ManifestSyntaxError: more than 1000 YAML tokens, which no pod needs$/);
  assert.doesNotThrow(() => parseDocument(new TextEncoder().encode(`[${'a,'.repeat(300)}]`), 1000));
});

table('a malicious manifest is a syntax error with the reason', (row) => {
  for (const [what, content, why] of malicious) {
    row(`a manifest with ${what} is a syntax error with the reason`, () => {
      const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
      assert.throws(
        () => parseDocument(bytes),
        (err) => err instanceof ManifestSyntaxError && why.test(err.message),
      );
    });
  }
});

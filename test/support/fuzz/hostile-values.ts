/** Absurd values of each type of an API field, and values of other types in its place. */
import * as fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import type { Schema } from '../../../src/shared/kubernetes/schema/types.ts';

export type HostileKind = Exclude<Schema['kind'], 'list' | 'map' | 'pointer' | 'always' | 'struct'>;

/** Words with a meaning in some field: a value that passes the first check reaches the second. */
const words = [
  'Always Never OnFailure IfNotPresent Default None ClusterFirst ClusterFirstWithHostNet Exists Equal In NotIn DoesNotExist Gt Lt',
  'NoExecute NoSchedule TCP UDP SCTP Memory HugePages-2Mi HugePages linux RuntimeDefault Localhost Unconfined Strict Merge Bidirectional',
  'HostToContainer Recursive FallbackToLogsOnError File RestartAllContainers Restart NotRequired SIGKILL SIGRTMAX+3 Guaranteed Burstable',
  'BestEffort Pending Running Succeeded Failed True False Unknown Ready Directory DirectoryOrCreate FileOrCreate Socket app',
  "requests.memory limits.cpu limits.hugepages-1e999 status.podIP metadata.annotations['a'] metadata.labels spec.nodeName cpu memory",
  'ephemeral-storage hugepages-2Mi hugepages- hugepages-1e99999 example.com/gpu OnRootMismatch SELinux kubernetes.io/config.mirror',
  'kubernetes.io/config.source kubernetes.io/config.hash container.apparmor.security.beta.kubernetes.io/app',
].flatMap((line) => line.split(' '));

/** Strings that break parsers, paths, patterns and prototypes. */
const oddWords = [
  '. .. ../.. ../../../../etc/passwd / // /../x a/b __proto__ constructor toString hasOwnProperty null undefined NaN -0 1e999 0x10 ٣ 💥 ﷺ',
  '% %2e%2e %zz $(A) $$(A) $( ${x} $(A)$(B) [ ( * \\ " \' ` ; | & = , : ::1 0.0.0.0 256.1.1.1 -1 99999999999999999999',
  'sim/run:1 sim/exit:0 2026-13-45T99:99:99Z',
].flatMap((line) => line.split(' '));
const oddTexts = ['', ' ', '\0', 'a\0b', '\n', '\r\n', '\t', '\u2028', '\ud800', '\udfff', ...oddWords];
const longTexts = ['a'.repeat(64), 'a'.repeat(254), 'x'.repeat(5000), '{'.repeat(1000)];

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...words) },
  { weight: 4, arbitrary: fc.constantFrom(...oddTexts, ...longTexts) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
);
const int32s = [0, 1, -1, 2, 80, 8080, 511, 0o777, 0o7777, 65_535, 65_536, 2 ** 31 - 1, -(2 ** 31), 1000];
const int64s = [...int32s, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 2 ** 63, -(2 ** 63), 1e18, 8.64e12, 8.64e15, 1e10];
const quantities = [
  ...'0 1 -1 100m 1Gi 10e39 -10e39 1e999999999 1e-999999999 1n 0.1n 9Ei 100Ei 9223372036854775807 8E 1e4294967296 . + -'.split(' '),
  ...'64Mi 0.5 1e18 1e19 1e308 1e309 1000000E'.split(' '),
  '7'.repeat(400),
  `0.${'0'.repeat(400)}1`,
];
const times = [
  '2026-01-01T00:00:00Z 0001-01-01T00:00:00Z 9999-12-31T23:59:59Z 0000-01-01T00:00:00Z 2026-01-01T00:00:00.999999999+23:59',
  '1969-12-31T23:59:59-12:00 2026-02-30T00:00:00Z',
].flatMap((line) => line.split(' '));

/** Values of the field's type. */
export const absurd: Readonly<Record<HostileKind, Arbitrary<unknown>>> = {
  text,
  bool: fc.boolean(),
  int32: fc.oneof(
    fc.constantFrom(...int32s),
    fc.maxSafeInteger().map((n) => n | 0),
  ),
  int64: fc.oneof(fc.constantFrom(...int64s), fc.maxSafeInteger()),
  quantity: fc.constantFrom(...quantities),
  intOrString: fc.oneof(fc.constantFrom(...int32s), text),
  time: fc.constantFrom(...times),
};

/** Values mostly of other types than the field's. */
export const foreign: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, -1, 0.5, 1e300, '', 'x', [], {}, [null], [[]], [{}], { a: null }, { '': '' }),
  fc.constantFrom<unknown>({ length: 3 }, { toJSON: 1 }, [0, [0, [0]]], { __proto__: null }, 'x'.repeat(10_000)),
  fc.jsonValue({ maxDepth: 4 }),
  text,
  fc.constantFrom(...quantities, ...times),
  fc.integer({ min: 100, max: 3000 }).map((depth) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown),
);

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLogOptions } from '../../../../../src/workers/server/logs/log-options.ts';
import { isBefore, parseLogTime, type LogTime } from '../../../../../src/workers/server/logs/log-time.ts';
import { table } from '../../../../support/table.ts';

const nowMs = Date.parse('2026-01-02T03:04:05.250Z');

function decode(query: string, splitStreams = false): unknown {
  const { options, refusal } = parseLogOptions(new URLSearchParams(query), nowMs, splitStreams);
  return options && !refusal ? options : `${refusal?.status} ${refusal?.message}`;
}
const none = {
  follow: false,
  previous: false,
  timestamps: false,
  tailLines: null,
  limitBytes: null,
  since: null,
  stream: null,
};
const undecodable = '400 {"message": "Unable to decode query."}';
const invalid = '422 {"message": "Invalid request."}';

const cases: { query: string; want: unknown; split?: boolean }[] = [
  { query: '', want: none },
  { query: 'follow=true&previous=1&timestamps=', want: { ...none, follow: true, previous: true, timestamps: true } },
  { query: 'follow=False&previous=0&timestamps=no', want: { ...none, timestamps: true } },
  { query: 'tailLines=0&limitBytes=1', want: { ...none, tailLines: 0, limitBytes: 1 } },
  { query: 'tailLines=%2B5', want: { ...none, tailLines: 5 } },
  { query: 'tail=3&tailLines=9', want: { ...none, tailLines: 3 } },
  { query: 'tail=all&tailLines=9', want: none },
  { query: 'tailLines=-1', want: invalid },
  { query: 'limitBytes=0', want: invalid },
  { query: 'sinceSeconds=0', want: invalid },
  { query: 'sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z', want: invalid },
  { query: 'tailLines=x', want: undecodable },
  { query: 'tailLines=', want: undecodable },
  { query: 'limitBytes=9223372036854775808', want: undecodable },
  { query: 'sinceTime=yesterday', want: undecodable },
  { query: 'sinceTime=2026-13-01T00:00:00Z', want: undecodable },
  { query: 'stream=All', want: none },
  { query: 'stream=stdout', want: invalid },
  { query: 'stream=', want: invalid },
  { query: 'stream=toString', want: invalid },
  { query: 'stream=Stderr', split: true, want: { ...none, stream: 'stderr' } },
  { query: 'stream=Stdout&tailLines=1', split: true, want: invalid },
  {
    query: 'stream=Stdout',
    want: '400 unable to return the given log stream: "Stdout". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
  },
  { query: 'insecureSkipTLSVerifyBackend=true&container=app&unknown=x', want: none },
];
table('the log options of a query', (row) => {
  for (const { query, want, split } of cases) {
    row(`the log options of "${query}"${split ? ' with split streams' : ''}`, () => assert.deepEqual(decode(query, split), want));
  }
});

test('sinceSeconds is relative to now, including the fraction', () => {
  const { options } = parseLogOptions(new URLSearchParams('sinceSeconds=5'), nowMs, false);
  assert.deepEqual(options?.since, { seconds: Date.parse('2026-01-02T03:04:00Z') / 1000, nanos: 250_000_000, text: '' });
});

test("an empty sinceTime is Go's zero time", () => {
  const { options } = parseLogOptions(new URLSearchParams('sinceTime='), nowMs, false);
  assert.equal(isBefore(options!.since!, parseLogTime('1970-01-01T00:00:00Z')!), true);
});

const times: { text: string; want: Partial<LogTime> | null }[] = [
  { text: '2016-10-06T00:17:09.669794202Z', want: { nanos: 669_794_202, text: '2016-10-06T00:17:09.669794202Z' } },
  { text: '2016-10-06T00:17:09Z', want: { nanos: 0, text: '2016-10-06T00:17:09.000000000Z' } },
  { text: '2016-10-06T00:17:09.5+02:00', want: { nanos: 500_000_000, text: '2016-10-06T00:17:09.500000000+02:00' } },
  { text: '2016-10-06T00:17:09.1234567891Z', want: { nanos: 123_456_789, text: '2016-10-06T00:17:09.123456789Z' } },
  { text: '2016-10-06', want: null },
  { text: '2016-99-06T00:17:09Z', want: null },
  { text: '', want: null },
];
table('log times are parsed', (row) => {
  for (const { text, want } of times) {
    row(`a log time "${text}"`, () => {
      const time = parseLogTime(text);
      assert.deepEqual(time && { nanos: time.nanos, text: time.text }, want);
    });
  }
});

test('log times are compared to the nanosecond, across time zones', () => {
  const [a, b, c] = ['2016-10-06T02:17:09.000000001+02:00', '2016-10-06T00:17:09.000000002Z', '2016-10-06T00:17:10Z'].map((text) =>
    parseLogTime(text)!,
  );
  assert.deepEqual([isBefore(a!, b!), isBefore(b!, c!), isBefore(b!, a!), isBefore(a!, a!)], [true, true, false, false]);
});

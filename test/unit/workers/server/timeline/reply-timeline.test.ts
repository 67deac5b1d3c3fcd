import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodTimelines } from '../../../../../src/main/timeline/index.ts';
import type { TimelineJson, TimelineListJson } from '../../../../../src/shared/contracts/timeline.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { monotonicMs } from '../../../../../src/shared/time/clock.ts';
import { timelineTable } from '../../../../../src/shared/timeline/timeline-table.ts';
import { replyTimeline } from '../../../../../src/workers/server/timeline/index.ts';
import { aLogger } from '../../../../support/logger.ts';

function records(capacity: number) {
  const clock = { now: () => Date.UTC(2026, 0, 1), monotonic: monotonicMs };
  const timelines = new PodTimelines({ buffer: timelineTable.create(capacity), clock, logger: aLogger().logger });
  const see = (uid: string, name = uid) =>
    timelines.see(
      { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', uid }, spec: { containers: [{ name: 'app', image: 'i' }] } },
      false,
    );
  const get = (query: string) => replyTimeline(timelines.buffer, { method: 'GET', query: new URLSearchParams(query), accept: undefined });
  return { timelines, see, get };
}

test('a list of ten thousand pods has the slowest ones, and at most as many as the limit', () => {
  const { timelines, see, get } = records(10_000);
  for (let index = 0; index < 10_000; index += 1) {
    see(`pod-${index}`);
    timelines.begin(`pod-${index}` as PodUID, 'Ready', { atMs: monotonicMs() - (index === 7777 ? 3_600_000 : 5) });
    if (index !== 7777) timelines.end(`pod-${index}` as PodUID, 'Ready');
  }
  const list = JSON.parse(get('limit=500').body) as TimelineListJson;
  assert.deepEqual([list.total, list.pods.length, list.pods[0]?.name], [10_000, 500, 'pod-7777']);
  assert.ok(get('limit=500').body.length < 100_000);
});

test('of several pods with one name, the one that has not finished is shown, or the one with the UID', () => {
  const { timelines, see, get } = records(4);
  for (const uid of ['old', 'current', 'newest']) {
    see(uid, 'web');
    if (uid !== 'current') timelines.finished(uid as PodUID);
  }
  const shown = (query: string) => (JSON.parse(get(query).body) as TimelineJson).uid;
  assert.equal(shown('pod=default/web'), 'current');
  assert.equal(shown('pod=default/web&uid=old'), 'old');
  timelines.finished('current' as PodUID);
  assert.equal(shown('pod=default/web'), 'newest');
});

test('a name with control characters is valid JSON, and found', () => {
  const { see, get } = records(1);
  const name = 'a\u001b[31m"\n\u202e';
  see('uid', name);
  const { status, body } = get(new URLSearchParams({ pod: `default/${name}` }).toString());
  assert.deepEqual([status, (JSON.parse(body) as TimelineJson).name], [200, name]);
});

test('hostile queries are refused', () => {
  const { get } = records(1);
  for (const query of ['pod=', 'pod=web', 'pod=/web', 'pod=default/', 'limit=0', 'limit=1e9', 'limit=x'])
    assert.equal(get(query).status, 400, query);
  assert.equal(get(`pod=${'n'.repeat(10_000)}/${'p'.repeat(10_000)}`).status, 404);
});

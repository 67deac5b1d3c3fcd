/** Where the time of a pod with a volume goes in the benchmark of volumes, and the rows that compare two kubelets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, within, withinShare } from '../../../../bench/harness/comparison.ts';
import { toNodeRequests, type NodeRequest } from '../../../../bench/harness/node-requests.ts';
import { computeVolumePodTimes, type SeenPod } from '../../../../bench/harness/volume-pod-times.ts';
import type { AuditEvent } from '../../../../lab/control-plane/control-plane-access.ts';

const request = (resource: string, startMs: number, endMs: number, code = 200): NodeRequest => ({
  verb: 'get',
  resource,
  subresource: '',
  name: 'one',
  code,
  startMs,
  endMs,
});
const call = (method: string, startMs: number, endMs: number) => ({ method, volumeID: 'v1', startMs, endMs, code: 0 });
const pod: SeenPod = {
  start: { startMs: 1000, endMs: 1200 },
  addedMs: 1005,
  runtimeCalls: [{ startMs: 1100, endMs: 1180 }],
  driverCalls: [call('NodeStageVolume', 1060, 1070), call('NodePublishVolume', 1072, 1080), call('NodeUnstageVolume', 5100, 5110)],
  deletedMs: 5000,
  goneMs: 5090,
  unstagedMs: 5110,
};
const claimGets = [request('persistentvolumeclaims', 1010, 1012, 403), request('persistentvolumeclaims', 1020, 1023)];

test("a pod's start is divided into calls, requests and the kubelet's own time", () => {
  const requests = [...claimGets, request('leases', 1030, 1050), request('pods', 1170, 1190), request('persistentvolumes', 1300, 1301)];
  assert.deepEqual(computeVolumePodTimes(pod, requests), {
    startMs: 200,
    driverMs: 18,
    apiMs: 5 + 2 + 3 + 10,
    ownMs: 200 - 98 - 20,
    gets: 2,
    refusedGets: 1,
    goneMs: 90,
    unstagedMs: 110,
    steps: { beforeMs: 55, betweenMs: 2, afterMs: 20 },
  });
});

test('a pod without a volume has no steps of one', () => {
  const { start, addedMs, runtimeCalls, deletedMs, goneMs } = pod;
  const { driverMs, ownMs, steps } = computeVolumePodTimes({ start, addedMs, runtimeCalls, driverCalls: [], deletedMs, goneMs }, []);
  assert.deepEqual([driverMs, ownMs, steps], [0, 200 - 80 - 5, undefined]);
});

test('the time of the controller that attaches is not the kubelet’s; the stage is measured from what the Node says', () => {
  const controller = { startMs: 1030, endMs: 1050 };
  const requests = [...claimGets, request('volumeattachments', 1052, 1055), request('volumeattachments', 1090, 1095)];
  const { ownMs, attachment } = computeVolumePodTimes({ ...pod, controller }, requests);
  assert.equal(ownMs, 200 - 98 - 20 - (5 + 2 + 3 + 3 + 5));
  assert.deepEqual(attachment, { inUseMs: 25, stageMs: 10, getMs: 3 });
  assert.throws(() => computeVolumePodTimes({ ...pod, controller, driverCalls: [] }, []), /has got no NodeStageVolume/);
});

test('requests are those since a moment that are no watches, with their times', () => {
  const event = (verb: string, second: string): AuditEvent => ({
    verb,
    requestURI: '/api/v1/persistentvolumes/v1',
    objectRef: { resource: 'persistentvolumes', name: 'v1' },
    responseStatus: { code: 200 },
    requestReceivedTimestamp: `2026-11-29T05:00:${second}.000500Z`,
    stageTimestamp: `2026-11-29T05:00:${second}.002250Z`,
    userAgent: 'kubelet',
  });
  const atMs = Date.UTC(2026, 10, 29, 5, 0, 2);
  const found = toNodeRequests([event('get', '01'), event('watch', '02'), event('get', '02')], atMs);
  assert.deepEqual(
    found.map(({ verb, name, startMs, endMs }) => [verb, name, startMs - atMs, endMs - atMs]),
    [['get', 'v1', 0.5, 2.25]],
  );
});

test('a row compares a percentile of both kubelets, and its goal is a number or a share', () => {
  const both = { own: [{ ms: 10 }, { ms: 30 }, { ms: undefined }], peer: [{ ms: 100 }] };
  const row = compare('a step', 'ms', both, ({ ms }) => ms);
  assert.deepEqual(row, { what: 'a step, p50', unit: 'ms', value: 10, peer: 100 });
  assert.deepEqual(within(row, 9).goal, { text: '9 ms', met: false });
  assert.deepEqual(withinShare(row, '⅓', 1 / 3).goal, { text: "⅓ of the Go kubelet's", met: true });
});

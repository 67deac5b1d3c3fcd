import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inPieces } from '../../../../src/shared/http/reply.ts';
import { createPodLists } from '../../../../src/workers/server/pod-lists/pod-lists.ts';
import { requestLabels } from '../../../../src/workers/server/request-metrics.ts';
import { replyOnReadOnly, type RouteSources } from '../../../../src/workers/server/routes.ts';
import { table } from '../../../support/table.ts';

const sources: RouteSources = {
  health: () => [{ name: 'ping', fault: '', note: '' }],
  nativeHistograms: true,
  metrics: async (page, format) => (format === 'text' ? ['page ', page] : [`${format} `, Buffer.from(page)]),
  resetHealthMetrics: async () => {},
  summary: (onlyCpuAndMemory) => {
    if (onlyCpuAndMemory) throw new Error('nothing is measured');
    return ['{"node":', '{}}'];
  },
  podList: async () => inPieces(['{"kind":', '"PodList"}'], 'application/json'),
};
const request = (method: string, target: string, accept?: string) => {
  const [path = '', query = ''] = target.split('?');
  return { method, path, query: new URLSearchParams(query), accept };
};

const readOnly: { ask: [string, string, string?]; want: [number, string, string] }[] = [
  { ask: ['GET', '/healthz'], want: [200, 'text/plain; charset=utf-8', 'ok'] },
  { ask: ['POST', '/healthz/ping'], want: [200, 'text/plain; charset=utf-8', 'ok'] },
  { ask: ['GET', '/healthzz'], want: [404, 'text/plain; charset=utf-8', '404 page not found\n'] },
  { ask: ['GET', '/pods'], want: [200, 'application/json', '{"kind":"PodList"}'] },
  { ask: ['GET', '/pods/', 'text/html, */*;q=0.1'], want: [200, 'application/json', '{"kind":"PodList"}'] },
  {
    ask: ['GET', '/pods', 'text/html'],
    want: [406, 'text/plain; charset=utf-8', '406: Not Acceptable\n\nAvailable representations: application/json'],
  },
  { ask: ['POST', '/pods'], want: [405, 'text/plain; charset=utf-8', '405: Method Not Allowed'] },
  { ask: ['GET', '/metrics'], want: [200, 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores', 'page all'] },
  {
    ask: ['GET', '/metrics', 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited'],
    want: [
      200,
      'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=underscores',
      'nativeProtobuf all',
    ],
  },
  { ask: ['GET', '/metrics/slis'], want: [200, 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores', 'page slis'] },
  { ask: ['DELETE', '/metrics/slis'], want: [200, 'text/plain; charset=utf-8', 'metrics reset\n'] },
  { ask: ['DELETE', '/metrics'], want: [200, 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores', 'page all'] },
  { ask: ['GET', '/metrics/probes'], want: [200, 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores', 'page probes'] },
  { ask: ['GET', '/metrics/resource'], want: [200, 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores', 'page resource'] },
  { ask: ['GET', '/stats/summary'], want: [200, 'application/json', '{"node":{}}'] },
  { ask: ['POST', '/stats/summary?only_cpu_and_memory=false'], want: [200, 'application/json', '{"node":{}}'] },
  {
    ask: ['GET', '/stats/summary?only_cpu_and_memory=true'],
    want: [500, 'text/plain; charset=utf-8', 'Internal Error: nothing is measured'],
  },
  { ask: ['PUT', '/stats/summary'], want: [405, 'text/plain; charset=utf-8', '405: Method Not Allowed'] },
  { ask: ['GET', '/stats/container'], want: [404, 'text/plain; charset=utf-8', '404: Page Not Found'] },
  { ask: ['GET', '/metrics/none'], want: [404, 'text/plain; charset=utf-8', '404 page not found\n'] },
  { ask: ['POST', '/exec/default/web/app'], want: [405, 'text/plain; charset=utf-8', 'Debug endpoints are disabled.\n'] },
  { ask: ['GET', '/run'], want: [307, 'text/html; charset=utf-8', '<a href="/run/">Temporary Redirect</a>.\n\n'] },
  { ask: ['GET', '/runningpods/'], want: [405, 'text/plain; charset=utf-8', 'Debug endpoints are disabled.\n'] },
  { ask: ['GET', '/'], want: [404, 'text/plain; charset=utf-8', '404 page not found\n'] },
  { ask: ['GET', '/../etc/passwd'], want: [404, 'text/plain; charset=utf-8', '404 page not found\n'] },
];
table('the read-only port answers', (row) => {
  for (const { ask, want } of readOnly) {
    row(`the read-only port answers ${ask.join(' ')} with ${want[0]}`, async () => {
      const { status, headers, body, pieces = [] } = await replyOnReadOnly(request(...ask), sources);
      assert.deepEqual(
        [status, headers['Content-Type'], body + (await Array.fromAsync<string | Uint8Array>(pieces)).map(String).join('')],
        want,
      );
    });
  }
});

test('a failed call to main is an internal error with its reason', async () => {
  const fails = () => Promise.reject(new Error('the main thread did not answer'));
  const podList = createPodLists({ podListUIDs: fails, podListItems: fails });
  const { status, body } = await replyOnReadOnly(request('GET', '/pods'), { ...sources, podList });
  assert.deepEqual([status, body], [500, 'the main thread did not answer\n']);
});

const labels: { ask: [string, string]; want: [string, string, string] }[] = [
  { ask: ['GET', '/pods'], want: ['GET', 'pods', 'false'] },
  { ask: ['GET', '/metrics/cadvisor'], want: ['GET', 'metrics/cadvisor', 'false'] },
  { ask: ['GET', '/metrics/other'], want: ['GET', 'other', 'false'] },
  { ask: ['POST', '/exec/ns/pod/c'], want: ['POST', 'exec', 'true'] },
  { ask: ['PROPFIND', '/x/y?z'], want: ['other', 'other', 'false'] },
  { ask: ['GET', '/healthz/ping'], want: ['GET', 'healthz', 'false'] },
];
table('a request is counted under its route', (row) => {
  for (const { ask, want } of labels) {
    row(`${ask.join(' ')} is counted under ${want.join(', ')}`, () => {
      const { method, path, long_running } = requestLabels(...ask, 'readonly');
      assert.deepEqual([method, path, long_running], want);
    });
  }
});

import assert from 'node:assert/strict';
import { computeRequiredAccess } from '../../../../../src/workers/server/auth/required-access.ts';
import { table } from '../../../../support/table.ts';

const cases: { request: [method: string, path: string]; want: [verb: string, ...subresources: string[]] }[] = [
  { request: ['GET', '/pods'], want: ['get', 'pods', 'proxy'] },
  { request: ['GET', '/pods/'], want: ['get', 'pods', 'proxy'] },
  { request: ['GET', '/allocatedPods'], want: ['get', 'pods', 'proxy'] },
  { request: ['GET', '/allocatedPods/ns/web/u'], want: ['get', 'pods', 'proxy'] },
  { request: ['GET', '/podsy'], want: ['get', 'proxy'] },
  { request: ['GET', '/runningpods/'], want: ['get', 'pods', 'proxy'] },
  { request: ['GET', '/healthz/ping'], want: ['get', 'healthz', 'proxy'] },
  { request: ['GET', '/configz'], want: ['get', 'configz', 'proxy'] },
  { request: ['GET', '/stats/summary'], want: ['get', 'stats'] },
  { request: ['POST', '/stats/summary'], want: ['create', 'stats'] },
  { request: ['DELETE', '/metrics/slis'], want: ['delete', 'metrics'] },
  { request: ['GET', '/logs/syslog'], want: ['get', 'log'] },
  { request: ['POST', '/checkpoint/a/b/c'], want: ['create', 'checkpoint'] },
  { request: ['GET', '/statusz'], want: ['get', 'statusz'] },
  { request: ['GET', '/flagz'], want: ['get', 'configz'] },
  { request: ['PUT', '/debug/flags/v'], want: ['update', 'proxy'] },
  { request: ['PATCH', '/'], want: ['patch', 'proxy'] },
  { request: ['OPTIONS', '/exec/a/b/c'], want: ['', 'proxy'] },
];
table('the access that a request requires', (row) => {
  for (const { request, want } of cases) {
    row(`${request.join(' ')} needs ${want.join(' ')}`, () => {
      const { verb, subresources } = computeRequiredAccess(...request);
      assert.deepEqual([verb, ...subresources], want);
    });
  }
});

import assert from 'node:assert/strict';
import { computeRequiredAccess } from '../../../../../src/workers/server/auth/attributes.ts';
import { table } from '../../../../support/table.ts';

const cases: { ask: [method: string, path: string]; want: [verb: string, ...subresources: string[]] }[] = [
  { ask: ['GET', '/pods'], want: ['get', 'pods', 'proxy'] },
  { ask: ['GET', '/pods/'], want: ['get', 'pods', 'proxy'] },
  { ask: ['GET', '/podsy'], want: ['get', 'proxy'] },
  { ask: ['GET', '/runningpods/'], want: ['get', 'pods', 'proxy'] },
  { ask: ['GET', '/healthz/ping'], want: ['get', 'healthz', 'proxy'] },
  { ask: ['GET', '/configz'], want: ['get', 'configz', 'proxy'] },
  { ask: ['GET', '/stats/summary'], want: ['get', 'stats'] },
  { ask: ['POST', '/stats/summary'], want: ['create', 'stats'] },
  { ask: ['DELETE', '/metrics/slis'], want: ['delete', 'metrics'] },
  { ask: ['GET', '/logs/syslog'], want: ['get', 'log'] },
  { ask: ['POST', '/checkpoint/a/b/c'], want: ['create', 'checkpoint'] },
  { ask: ['GET', '/statusz'], want: ['get', 'statusz'] },
  { ask: ['GET', '/flagz'], want: ['get', 'configz'] },
  { ask: ['PUT', '/debug/flags/v'], want: ['update', 'proxy'] },
  { ask: ['PATCH', '/'], want: ['patch', 'proxy'] },
  { ask: ['OPTIONS', '/exec/a/b/c'], want: ['', 'proxy'] },
];
table('what a request needs to be allowed', (row) => {
  for (const { ask, want } of cases) {
    row(`${ask.join(' ')} needs ${want.join(' ')}`, () => {
      const { verb, subresources } = computeRequiredAccess(...ask);
      assert.deepEqual([verb, ...subresources], want);
    });
  }
});

import assert from 'node:assert/strict';
import { routeOf } from '../../../../src/workers/server/request-span.ts';
import { table } from '../../../support/table.ts';

const rows: Readonly<Record<string, string>> = {
  '/pods': '/pods/',
  '/runningpods/': '/runningpods/',
  '/logs': '/logs/',
  '/logs/': '/logs/',
  '/metrics/cadvisor': '/metrics/cadvisor',
  '/exec/ns/pod/app': '/exec/{podNamespace}/{podID}/{containerName}',
  '/exec/ns/pod/uid/app': '/exec/{podNamespace}/{podID}/{uid}/{containerName}',
  '/exec/ns/pod/uid/app/more': '/exec',
  '/exec/': '/exec',
  '/portForward/ns/pod': '/portForward/{podNamespace}/{podID}',
  '/containerLogs/ns/pod/app': '/containerLogs/{podNamespace}/{podID}/{containerName}',
  '/logs/syslog': '/logs/{logpath:*}',
  '/debug/pprof/heap': '/debug/pprof/{subpath:*}',
  '/constructor/x': '/constructor/x',
};

table('the route of a request', (row) => {
  for (const [path, want] of Object.entries(rows)) row(path, () => assert.equal(routeOf(path), want));
});

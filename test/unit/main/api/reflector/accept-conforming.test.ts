import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptConforming } from '../../../../../src/main/api/reflector/accept-conforming.ts';
import { ServiceLister } from '../../../../../src/main/objects/service-lister.ts';
import { clusterTrustBundle, node, runtimeClass, service } from '../../../../../src/shared/kubernetes/schema/objects.ts';
import { FakeApi } from '../../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { aLogger, silentLogger } from '../../../../support/logger.ts';
import { table } from '../../../../support/table.ts';

const metadata = { name: 'x', namespace: 'default', uid: 'uid-x', resourceVersion: '5' };

const refused = [
  ['a service whose ports are an object', service, { spec: { clusterIP: '10.0.0.1', ports: {} } }],
  ['a service whose address is a number', service, { spec: { clusterIP: 1 } }],
  ['a service whose port is a text', service, { spec: { ports: [{ port: '80' }] } }],
  ['a runtime class whose handler is a list', runtimeClass, { handler: [] }],
  ['a trust bundle that is an object', clusterTrustBundle, { spec: { trustBundle: {} } }],
  ['a Node whose taints are an object', node, { spec: { taints: {} } }],
  ['a Node whose memory is no quantity', node, { status: { allocatable: { memory: 'much' } } }],
  ['a Node whose labels are numbers', node, { metadata: { ...metadata, labels: { a: 1 } } }],
] as const;
table('an object with fields of wrong types is rejected', (row) => {
  for (const [what, schema, fields] of refused) {
    row(what, () => {
      const { logger, lines } = aLogger();
      assert.equal(acceptConforming(schema, logger)({ metadata, ...fields }), null);
      assert.equal(lines[0]?.msg, 'Object of the API server ignored');
    });
  }
});

test('a valid object is accepted unchanged, including unknown fields', () => {
  const object = { metadata, spec: { clusterIP: '10.0.0.1', ports: [{ name: 'a', port: 80, appProtocol: 'h2' }], future: [{}] } };
  assert.equal(acceptConforming(service, silentLogger)(object), object);
});

test('a malformed service does not affect the other services', async () => {
  const api = new FakeApi();
  const services = ServiceLister.start({ client: api, clock: new FakeClock(), logger: silentLogger });
  const watch = await api.nextWatch('/api/v1/services');
  const named = (name: string, spec: object) => ({ metadata: { ...metadata, name, uid: `uid-${name}` }, spec });
  watch.push('ADDED', named('bad', { clusterIP: '10.0.0.1', ports: 80 }));
  watch.push('ADDED', named('null', { clusterIP: '10.0.0.2', ports: null }));
  watch.push('ADDED', named('good', { clusterIP: '10.0.0.3', ports: [{ port: 80 }] }));
  watch.push('BOOKMARK', { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } });
  await settle();
  const listed = await services.list({ kind: 'Services', namespace: 'default', links: true }, false);
  assert.deepEqual(
    listed.map(({ name, ports }) => `${name} ${ports.length}`),
    ['null 0', 'good 1'],
  );
  await services.close();
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goQuote, toGoJSON } from '../../../../../../src/shared/kubernetes/go-text.ts';
import {
  containerAnnotations,
  containerLabels,
  sandboxMetadata,
} from '../../../../../../src/workers/pod-sync/pod/runtime-config/runtime-labels.ts';
import { aContainer, aPod } from '../../../../../support/pods/pods.ts';
import { table } from '../../../../../support/table.ts';

const pod = aPod({
  metadata: { labels: { app: 'web', 'io.kubernetes.pod.name': 'a lie' }, annotations: { note: 'x' }, deletionGracePeriodSeconds: 5 },
});

test('a sandbox has the pod’s labels and its identity, which no label overrides', () => {
  assert.deepEqual(sandboxMetadata(pod), {
    labels: {
      app: 'web',
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'uid-web',
    },
    annotations: { note: 'x' },
  });
});

test('a sandbox has no more labels and annotations than 500 of them fit into a list of the runtime', () => {
  const manyLabels = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`example.com/${index}`, 'x'.repeat(63)]));
  const { labels, annotations } = sandboxMetadata(
    aPod({ metadata: { labels: manyLabels, annotations: { small: 'kept', large: 'x'.repeat(250_000) } } }),
  );
  assert.ok(Buffer.byteLength(JSON.stringify([labels, annotations])) < 40_000);
  assert.deepEqual([labels['io.kubernetes.pod.uid'], annotations], ['uid-web', { small: 'kept' }]);
});

test('a container has no annotation of foreign length', () => {
  const long = '<'.repeat(1_300_000);
  const container = aContainer({
    terminationMessagePath: `/${long}`,
    ports: Array.from({ length: 10_000 }, () => ({ containerPort: 1 })),
    lifecycle: { preStop: { exec: { command: [long] } } },
  });
  const annotations = containerAnnotations(pod, container, 0);
  assert.ok(Buffer.byteLength(JSON.stringify(annotations)) < 1000);
  assert.equal(annotations['io.kubernetes.container.terminationMessagePath'], '');
});

test('a container has its identity and none of the pod’s labels', () => {
  assert.deepEqual(containerLabels(pod, 'app'), {
    'io.kubernetes.container.name': 'app',
    'io.kubernetes.pod.name': 'web',
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': 'uid-web',
  });
});

test('a container’s annotations contain what a later kubelet needs to stop it, encoded as by Go', () => {
  const container = aContainer({
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    ports: [
      { protocol: 'TCP', containerPort: 80, name: 'http', hostPort: 0 },
      { containerPort: 53, protocol: 'UDP', hostIP: '10.0.0.1', hostPort: 5353 },
    ],
    lifecycle: {
      preStop: { httpGet: { scheme: 'HTTP', port: 'http', path: '/a?b=<&>', host: '', httpHeaders: [{ value: 'v', name: 'n' }] } },
    },
  });
  const extra = { device: 'x', 'io.kubernetes.container.restartCount': '99' };
  const restartBackOff = { key: 'app/1f', backoffMs: 20_000, lastUpdateMs: 5 };
  assert.deepEqual(containerAnnotations(pod, container, 3, { extra, restartBackOff }), {
    device: 'x',
    'io.kubernetes.container.restartBackOff': '20000 app/1f',
    // Another test checks the value of the hash.
    'io.kubernetes.container.hash': containerAnnotations(pod, container, 0)['io.kubernetes.container.hash'],
    'io.kubernetes.container.restartCount': '3',
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': 'File',
    'io.kubernetes.pod.deletionGracePeriod': '5',
    'io.kubernetes.pod.terminationGracePeriod': '30',
    'io.kubernetes.container.preStopHandler':
      '{"httpGet":{"path":"/a?b=\\u003c\\u0026\\u003e","port":"http","scheme":"HTTP","httpHeaders":[{"name":"n","value":"v"}]}}',
    'io.kubernetes.container.ports':
      '[{"name":"http","containerPort":80,"protocol":"TCP"},{"hostPort":5353,"containerPort":53,"protocol":"UDP","hostIP":"10.0.0.1"}]',
  });
});

table('a preStop handler is encoded in an annotation', (row) => {
  for (const [handler, want] of [
    [{ exec: { command: ['sh', '-c', 'sleep 1'] } }, '{"exec":{"command":["sh","-c","sleep 1"]}}'],
    [{ exec: {} }, '{"exec":{}}'],
    [{ sleep: { seconds: 0 } }, '{"sleep":{"seconds":0}}'],
    [{ tcpSocket: { host: 'h', port: 8080 } }, '{"tcpSocket":{"port":8080,"host":"h"}}'],
  ] as const) {
    row(`a preStop handler is encoded as ${want}`, () => {
      const annotations = containerAnnotations(pod, aContainer({ lifecycle: { preStop: handler } }), 0);
      assert.equal(annotations['io.kubernetes.container.preStopHandler'], want);
    });
  }
});

test('unset fields have no annotation', () => {
  const bare = aPod({ spec: { terminationGracePeriodSeconds: undefined as never } });
  assert.deepEqual(Object.keys(containerAnnotations(bare, aContainer(), 0)), [
    'io.kubernetes.container.hash',
    'io.kubernetes.container.restartCount',
    'io.kubernetes.container.terminationMessagePath',
    'io.kubernetes.container.terminationMessagePolicy',
  ]);
});

test('text is quoted and encoded as by Go', () => {
  assert.equal(goQuote('a"b\\c\n\t\u0007\u0001\u007f\u200bé😀 '), '"a\\"b\\\\c\\n\\t\\a\\x01\\x7f\\u200bé😀 "');
  assert.equal(goQuote('\u{e0001}'), '"\\U000e0001"');
  assert.equal(toGoJSON({ a: '<\u2028>', b: '\ud800' }), '{"a":"\\u003c\\u2028\\u003e","b":"�"}');
});

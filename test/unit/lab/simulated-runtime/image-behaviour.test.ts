/** Image names and environment variables define the behaviour of a simulated container. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  containerBehaviour,
  parseDurationMs,
  pullBehaviour,
  type ContainerBehaviour,
} from '../../../../lab/simulated-runtime/image-behaviour.ts';
import { ImageStore, normalizeReference } from '../../../../lab/simulated-runtime/image-store.ts';
import { table } from '../../../support/table.ts';

const term = { code: 143, afterMs: 0 };
const cases: { image: string; env?: Record<string, string>; want: Partial<ContainerBehaviour> }[] = [
  { image: 'nginx', want: { exit: null, stop: term, createFails: false, startFails: false, logLines: 1 } },
  { image: 'sim/exit:1-after-5s', want: { exit: { code: 1, afterMs: 5000, reason: '' } } },
  { image: 'sim/exit:0', want: { exit: { code: 0, afterMs: 0, reason: '' } } },
  { image: 'sim/exit:after-1.5s', want: { exit: { code: 0, afterMs: 1500, reason: '' } } },
  { image: 'docker.io/sim/exit:2-after-100ms', want: { exit: { code: 2, afterMs: 100, reason: '' } } },
  { image: 'registry.example:5000/sim/oom:after-2s', want: { exit: { code: 137, afterMs: 2000, reason: 'OOMKilled' } } },
  { image: 'sim/stubborn:x', want: { exit: null, stop: null } },
  { image: 'sim/slowstop:0-after-3s', want: { stop: { code: 0, afterMs: 3000 } } },
  { image: 'sim/createfails:x', want: { createFails: true } },
  { image: 'sim/startfails:x', want: { startFails: true } },
  { image: 'nginx', env: { SIM_EXIT_CODE: '4', SIM_EXIT_AFTER: '2m' }, want: { exit: { code: 4, afterMs: 120_000, reason: '' } } },
  { image: 'nginx', env: { SIM_STOP_AFTER: 'never' }, want: { stop: null } },
  { image: 'sim/stubborn:x', env: { SIM_STOP_CODE: '0' }, want: { stop: { code: 0, afterMs: 0 } } },
  { image: 'nginx', env: { SIM_LOG_LINES: '3', SIM_LOG_EVERY: '10ms' }, want: { logLines: 3, logEveryMs: 10 } },
];
table('the behaviour of a simulated image', (row) => {
  for (const { image, env = {}, want } of cases) {
    row(`the behaviour of ${image} with ${JSON.stringify(env)}`, () => {
      const behaviour = containerBehaviour(image, new Map(Object.entries(env)));
      for (const [key, value] of Object.entries(want)) assert.deepEqual(behaviour[key as keyof ContainerBehaviour], value, key);
    });
  }
});

test('an invalid duration is an error', () => {
  assert.throws(() => parseDurationMs('soon'), /not a duration: "soon"/);
});

test('the image name defines the duration and the failure of a pull', () => {
  assert.deepEqual(pullBehaviour('sim/pull:after-5s'), { pullMs: 5000, failure: null });
  assert.deepEqual(pullBehaviour('nginx'), { pullMs: null, failure: null });
  assert.deepEqual(pullBehaviour('sim/unpullable:not-found').failure?.code, 5);
  assert.match(pullBehaviour('sim/unpullable:unauthorized').failure!.message, /pull access denied/);
});

const references: [given: string, full: string][] = [
  ['nginx', 'docker.io/library/nginx:latest'],
  ['team/app:v1', 'docker.io/team/app:v1'],
  ['registry.example:5000/app', 'registry.example:5000/app:latest'],
  ['localhost/app:1', 'localhost/app:1'],
  ['nginx:1@sha256:aa', 'docker.io/library/nginx@sha256:aa'],
];
table('image references are normalized', (row) => {
  for (const [given, full] of references) row(`the image ${given} is ${full}`, () => assert.equal(normalizeReference(given), full));
});

test('an image is found by its ID with and without the algorithm, by tag and by digest, until it is removed', () => {
  const images = new ImageStore();
  const image = images.add('nginx', 10);
  assert.equal(images.add('docker.io/library/nginx:latest', 10), image);
  for (const name of ['nginx', 'nginx:latest', image.id, image.id.slice('sha256:'.length), image.digest])
    assert.equal(images.resolve(name), image, name);
  images.remove(image.digest);
  assert.equal(images.resolve('nginx'), undefined);
});

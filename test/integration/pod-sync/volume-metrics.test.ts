/** Checks the metrics of volume operations, in the rendering of the server thread. */
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { storageOperationDuration } from '../../../src/shared/metrics/definitions/volumes.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../src/shared/metrics/index.ts';
import { aPodWith, secret, serverWith, setUp, useVolumes, volumes } from '../../support/pods/volumes-suite.ts';

useVolumes();

test('the durations of mounts and unmounts are counted by plugin, operation and outcome', async (t) => {
  const segment = createMetricsSegment();
  bindMetrics(segment);
  t.after(() => bindMetrics(null));
  const counted = () =>
    renderMetrics([segment], [storageOperationDuration])
      .split('\n')
      .flatMap((line) => {
        const [, operation, plugin, status, count] =
          /_count\{migrated="false",operation_name="(.*)",status="(.*)",volume_plugin="(.*)"\} (\d+)$/.exec(line) ?? [];
        return count === undefined ? [] : [`${operation} ${plugin} ${status} ${count}`];
      })
      .toSorted();
  const list = [
    { name: 'scratch', emptyDir: {} },
    { name: 'login', secret: { secretName: 's' } },
  ];
  const fixture = aPodWith(list, {}, { securityContext: { fsGroup: 77 } });
  await assert.rejects(setUp(fixture, serverWith({})));
  await setUp(fixture, serverWith({ 'Secret s': secret({ a: 'one' }) }));
  // A ready emptyDir is not set up again.
  await setUp(fixture, serverWith({ 'Secret s': secret({ a: 'one' }) }));
  await mkdir(join(fixture.dir, 'volumes/example.com~other/theirs'), { recursive: true });
  const mounted = [
    'volume_apply_access_control success kubernetes.io/empty-dir 1',
    'volume_apply_access_control success kubernetes.io/secret 1',
    'volume_mount fail-unknown kubernetes.io/secret 1',
    'volume_mount success kubernetes.io/empty-dir 1',
    'volume_mount success kubernetes.io/secret 2',
  ];
  assert.deepEqual(counted(), mounted);
  await volumes.unmountVolumes(fixture.uid);
  await volumes.unmountVolumes(fixture.uid);
  const unmounted = ['volume_unmount success kubernetes.io/empty-dir 1', 'volume_unmount success kubernetes.io/secret 1'];
  assert.deepEqual(counted(), [...mounted, ...unmounted].toSorted());
});

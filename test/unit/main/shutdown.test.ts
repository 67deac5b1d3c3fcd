import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Shutdown, type ShutdownPart } from '../../../src/main/shutdown.ts';
import { aLogger } from '../../support/logger.ts';

function aShutdown() {
  const { logger, lines } = aLogger();
  const shutdown = new Shutdown(logger);
  const closed: ShutdownPart[] = [];
  const register = (...parts: ShutdownPart[]) => {
    for (const part of parts) {
      shutdown.register(part, async () => {
        closed.push(part);
      });
    }
  };
  return { shutdown, closed, lines, register };
}
const standaloneParts: ShutdownPart[] = [
  'heartbeat',
  'hang-watchdog',
  'pleg',
  'stats',
  'pod-sync',
  'health',
  'server',
  'serving-certificate',
  'pod-timelines',
  'images',
  'probes',
  'work-queue',
  'pod-workers',
  'node-cgroups',
  'network-chains',
  'exclusive-allocations',
  'plugins',
  'volumes',
  'node-shutdown',
  'eviction',
  'pod-faults',
  'resizes',
  'allocation-manager',
  'config-reload',
  'sources',
];

test('parts close in the order of the data’s flow, in whatever order they started', async () => {
  const { shutdown, closed, register } = aShutdown();
  register('heartbeat', 'api', 'pleg', 'pod-sync', 'sources', 'pod-workers', 'status-manager', 'events');
  await shutdown.run();
  assert.deepEqual(closed, ['sources', 'pod-workers', 'pod-sync', 'pleg', 'events', 'status-manager', 'api', 'heartbeat']);
});

test('a part that fails to close does not keep the next one open', async () => {
  const { shutdown, closed, lines, register } = aShutdown();
  register('pleg');
  shutdown.register('sources', () => Promise.reject(new Error('busy')));
  await shutdown.run();
  assert.deepEqual(closed, ['pleg']);
  const warnings = lines.filter(({ msg }) => msg === 'Could not stop a part cleanly');
  assert.deepEqual(
    warnings.map(({ part }) => part),
    ['sources'],
  );
});

test('a part that is registered twice is a fault', () => {
  const { shutdown, register } = aShutdown();
  register('pleg');
  assert.throws(() => shutdown.register('pleg', async () => {}), /pleg is registered for shutdown twice/);
});

test('a part that is not registered is found when everything has started', () => {
  const { shutdown, register } = aShutdown();
  register(...standaloneParts);
  shutdown.checkComplete({ isStandalone: true });
  assert.throws(
    () => shutdown.checkComplete({ isStandalone: false }),
    /: mirror-pods, runtime-classes, pod-objects, node, events, status-manager, client-certificate, api$/,
  );
  const incomplete = aShutdown();
  incomplete.register(...standaloneParts.filter((part) => part !== 'images'));
  assert.throws(() => incomplete.shutdown.checkComplete({ isStandalone: true }), /not registered for shutdown: images$/);
});

/** A reflector of pods with a fake API server, and the events that the server sends. */
import { fieldEquals, Reflector, type ObjectChange } from '../../../src/main/api/index.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { FakeApi, type FakeWatch } from './fake-api.ts';
import { FakeClock, settle } from '../fake-clock.ts';
import { aLogger } from '../logger.ts';

export const podsPath = '/api/v1/pods';
export const pod = (name: string, resourceVersion: string, uid = `uid-${name}`) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid, resourceVersion },
  spec: { containers: [], fromTheFuture: true },
});
export const item = (name: string, resourceVersion: string) => {
  const { apiVersion: _, kind: __, ...rest } = pod(name, resourceVersion);
  return rest;
};
export const list = (resourceVersion: string, items: unknown[], next?: string) => ({
  kind: 'PodList',
  metadata: { resourceVersion, continue: next },
  items,
});
export const endOfInitialEvents = (resourceVersion: string) => ({
  kind: 'Pod',
  metadata: { resourceVersion, annotations: { 'k8s.io/initial-events-end': 'true' } },
});

export function aReflector(api = new FakeApi(), idleTimeoutMs?: number) {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const notifications: string[] = [];
  const calls: (readonly ObjectChange<Pod>[])[] = [];
  const reflector = Reflector.start<Pod>({
    client: api,
    path: podsPath,
    fieldSelector: fieldEquals('spec.nodeName', 'n1'),
    trafficClass: 'pods',
    apiVersion: 'v1',
    kind: 'Pod',
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
    handler: {
      onReplace: (pods) => void notifications.push(`REPLACE ${pods.map(({ metadata }) => metadata.name).join(' ')}`),
      onChange: (changes) => {
        calls.push(changes);
        notifications.push(...changes.map(({ type, object }) => `${type} ${object.metadata.name}`));
      },
    },
    clock,
    logger,
    random: () => 0.5,
  });
  return { api, clock, lines, notifications, calls, reflector };
}

/** Returns a reflector that has streamed the pods `a` and `b` at version 10 and is watching. */
export async function aSyncedReflector(idleTimeoutMs?: number) {
  const parts = aReflector(new FakeApi(), idleTimeoutMs);
  const watch = await parts.api.nextWatch(podsPath);
  watch.push('ADDED', pod('a', '5'));
  watch.push('ADDED', pod('b', '3'));
  watch.push('BOOKMARK', endOfInitialEvents('10'));
  await settle();
  parts.notifications.length = 0;
  return { ...parts, watch };
}

export const query = (watch: FakeWatch) => ({ ...watch.call.query });

/** Returns a reflector in its longest back-off, after several failures: 12 s with half of the jitter. */
export async function aReflectorInBackOff(refusal: Error) {
  const parts = aReflector(new FakeApi());
  (await parts.api.nextWatch(podsPath)).fail();
  await settle();
  for (const waitMs of [1200, 2400, 4800, 9600]) {
    parts.api.failNextWatch(podsPath, refusal);
    await parts.clock.advance(waitMs);
  }
  return parts;
}

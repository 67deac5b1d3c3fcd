/** A PodObjectManager with an in-memory API server. */
import { PodObjectManager, type PodObjectManagerOptions } from '../../../src/main/objects/index.ts';
import type { PodObjectRef } from '../../../src/shared/contracts/pod-objects.ts';
import type { Volume } from '../../../src/shared/kubernetes/api.ts';
import { FakeApi } from '../api-server/fake-api.ts';
import { FakeClock } from '../fake-clock.ts';
import { silentLogger } from '../logger.ts';
import { aPod } from './pods.ts';

export const tokenPath = '/api/v1/namespaces/default/serviceaccounts/sa/token';
export const tokenVolume: Volume = {
  name: 't',
  projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 3607 } }, { configMap: { name: 'ca' } }] },
};
export const fromApi = { annotations: { 'kubernetes.io/config.source': 'api' } };

export function aPodObjectManager(options: Partial<PodObjectManagerOptions> = {}) {
  const clock = new FakeClock();
  const api = new FakeApi();
  const changed: string[][] = [];
  api.on('POST', tokenPath, { status: { token: 'jwt', expirationTimestamp: '2026-01-01T02:00:00Z' } });
  api.on('GET', '/api/v1/namespaces/default/configmaps/ca', {
    metadata: { name: 'ca', namespace: 'default', uid: 'u', resourceVersion: '1' },
    data: { 'ca.crt': 'CA' },
  });
  const manager = PodObjectManager.start({
    client: api,
    strategy: 'Watch',
    syncFrequencyMs: 60_000,
    objectTTLSeconds: () => undefined,
    projectsTrustBundles: true,
    certificates: null,
    isRunning: () => false,
    onChanged: (uids) => changed.push([...uids]),
    clock,
    logger: silentLogger,
    random: () => 0,
    ...options,
  });
  return { clock, api, changed, manager };
}

export const pod = aPod({ metadata: fromApi, spec: { serviceAccountName: 'sa', volumes: [tokenVolume] } });
export const tokenRef: PodObjectRef = {
  kind: 'Token',
  namespace: 'default',
  serviceAccountName: 'sa',
  podName: 'web',
  podUID: 'uid-web',
  audience: '',
  expirationSeconds: 3607,
};

/** The bookmark that ends the initial events of a watch. */
export const initialEnd = { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } };

export const certificate = (text: string) =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(text).toString('base64')}\n-----END CERTIFICATE-----\n`;

/** A token in a volume is renewed while its container runs: at 80 % of its lifetime, and after a start. Both take minutes, so the kubelet's clock is changed. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

/** The shortest lifetime that the API server grants. */
const lifetimeSeconds = 600;
/** The age of a new token by this kubelet's clock: a token is renewed at 480 s, less up to 10 s of jitter. */
const aheadSeconds = 458;
/** Far more than the test takes, also by the kubelet's clock. */
const longLifetimeSeconds = 7200;
const timeFactor = 20;

const preload = (name: string) => `--import=${join(import.meta.dirname, '../../support/preloads', name)}`;
const options = (...preloads: readonly string[]) => [process.env['NODE_OPTIONS'] ?? '', ...preloads.map(preload)].join(' ').trim();

describe('a token in a volume', () => {
  /** Of the next kubelet. */
  const env: Record<string, string> = { NODE_OPTIONS: options('clock-ahead.mjs'), CLOCK_AHEAD_MS: String(aheadSeconds * 1000) };
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start('cluster-tokens', { env });
  });
  after(() => node?.destroy());

  const create = (name: string, expirationSeconds: number) => {
    const source = { serviceAccountToken: { path: 'token', audience: 'vault.example', expirationSeconds } };
    return node.create(name, {
      automountServiceAccountToken: false,
      containers: [aBusybox({ volumeMounts: [{ name: 'vault', mountPath: '/vault' }] })],
      volumes: [{ name: 'vault', projected: { sources: [source] } }],
    });
  };
  const read = (name: string) => node.exec(name, 'cat /vault/token');
  const untilOther = (name: string, first: string, poll: () => void = () => {}) =>
    waitUntil(
      'the file has another token',
      async () => {
        poll();
        const token = await read(name);
        return token === first ? undefined : token;
      },
      90_000,
    );
  const isValid = async (token: string) => {
    const review = { spec: { token, audiences: ['vault.example'] } };
    const { status } = await node.api.create<{ status: { authenticated?: boolean } }>(
      '/apis/authentication.k8s.io/v1/tokenreviews',
      review,
    );
    return status.authenticated ?? false;
  };

  test('is renewed at 80 % of its lifetime, and a running container sees the new one', async () => {
    const created = await create('renewed', lifetimeSeconds);
    const before = await node.untilRunning('renewed');
    const first = await read('renewed');
    const second = await untilOther('renewed', first);
    const [old, renewed] = [claimsOf(first), claimsOf(second)];
    assert.deepEqual([old.exp - old.iat, renewed.exp - renewed.iat], [lifetimeSeconds, lifetimeSeconds]);
    assert.deepEqual([renewed.aud, renewed.sub], [['vault.example'], `system:serviceaccount:${node.namespace}:default`]);
    assert.equal(renewed['kubernetes.io'].pod.uid, created.metadata.uid);
    const ageSeconds = renewed.iat - old.iat + aheadSeconds;
    assert.ok(ageSeconds >= 0.8 * lifetimeSeconds - 10, `renewed when it was ${ageSeconds} s old`);
    assert.ok(ageSeconds < lifetimeSeconds, `renewed when it was ${ageSeconds} s old`);
    assert.ok(await isValid(second));
    const after = await node.get('renewed');
    assert.equal(after.status?.containerStatuses?.[0]?.containerID, before.status?.containerStatuses?.[0]?.containerID);
  });

  test('is renewed within minutes of the kubelet’s start, since its service account may be another one', async () => {
    await create('adopted', longLifetimeSeconds);
    await node.untilRunning('adopted');
    const first = await read('adopted');
    await node.node.stopKubelet();
    const path = `/api/v1/namespaces/${node.namespace}/serviceaccounts/default`;
    const { metadata } = await node.api.get<Pod>(path);
    await node.api.delete(path);
    await waitUntil('the service account is another one', async () => {
      const account = await node.api.find<Pod>(path);
      return account !== undefined && account.metadata.uid !== metadata.uid;
    });
    await waitUntil('its token is refused', async () => !(await isValid(first)));

    Object.assign(env, { NODE_OPTIONS: options('clock-ahead.mjs', 'fast-time.mjs'), CLOCK_AHEAD_MS: '0', TIME_FACTOR: String(timeFactor) });
    const setAhead = (seconds: number) => writeFileSync(join(node.node.folder, 'clock-ahead-ms'), String(seconds * 1000));
    setAhead(0);
    await node.node.startKubelet();
    await node.untilReady();
    assert.equal(await read('adopted'), first);
    // The wall clock passes faster than the timers: it is set with each poll only.
    const beganAt = Date.now();
    const second = await untilOther('adopted', first, () => setAhead((Date.now() - beganAt) * 3e-3 * timeFactor));
    assert.ok(await isValid(second));
  });
});

function claimsOf(token: string) {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
    readonly iat: number;
    readonly exp: number;
    readonly aud: readonly string[];
    readonly sub: string;
    readonly 'kubernetes.io': { readonly pod: { readonly uid: string } };
  };
}

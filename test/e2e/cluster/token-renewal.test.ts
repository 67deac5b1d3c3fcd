/** A token in a volume is renewed at 80 % of its lifetime while its container runs. The minimum is ten minutes, so the kubelet's clock is set ahead. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

/** The shortest lifetime that the API server grants. */
const lifetimeSeconds = 600;
/** The age of a new token by this kubelet's clock: a token is renewed at 480 s, less up to 10 s of jitter. */
const aheadSeconds = 458;

test('a token is renewed at 80 % of its lifetime, and a running container sees the new one', async (t) => {
  const clock = `--import=${join(import.meta.dirname, '../../support/preloads/clock-ahead.mjs')}`;
  const node = await TestClusterNode.start('cluster-tokens', {
    env: { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} ${clock}`.trim(), CLOCK_AHEAD_MS: String(aheadSeconds * 1000) },
  });
  t.after(() => node.destroy());
  const source = { serviceAccountToken: { path: 'token', audience: 'vault.example', expirationSeconds: lifetimeSeconds } };
  const created = await node.create('renewed', {
    automountServiceAccountToken: false,
    containers: [aBusybox({ volumeMounts: [{ name: 'vault', mountPath: '/vault' }] })],
    volumes: [{ name: 'vault', projected: { sources: [source] } }],
  });
  const before = await node.untilRunning('renewed');
  const read = () => node.exec('renewed', 'cat /vault/token');
  const first = await read();
  const second = await waitUntil(
    'the file has another token',
    async () => {
      const token = await read();
      return token === first ? undefined : token;
    },
    90_000,
  );
  const [old, renewed] = [claimsOf(first), claimsOf(second)];
  assert.deepEqual([old.exp - old.iat, renewed.exp - renewed.iat], [lifetimeSeconds, lifetimeSeconds]);
  assert.deepEqual([renewed.aud, renewed.sub], [['vault.example'], `system:serviceaccount:${node.namespace}:default`]);
  assert.equal(renewed['kubernetes.io'].pod.uid, created.metadata.uid);
  const ageSeconds = renewed.iat - old.iat + aheadSeconds;
  assert.ok(ageSeconds >= 0.8 * lifetimeSeconds - 10, `renewed when it was ${ageSeconds} s old`);
  assert.ok(ageSeconds < lifetimeSeconds, `renewed when it was ${ageSeconds} s old`);
  const review = { spec: { token: second, audiences: ['vault.example'] } };
  const { status } = await node.api.create<{ status: { authenticated?: boolean } }>('/apis/authentication.k8s.io/v1/tokenreviews', review);
  assert.equal(status.authenticated, true);
  const after = await node.get('renewed');
  assert.equal(after.status?.containerStatuses?.[0]?.containerID, before.status?.containerStatuses?.[0]?.containerID);
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

/** The node's token expires and is replaced, from a file and from a plugin: the node continues through the 401 responses. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import type { FaultyApiServer } from '../../support/api-server/api-server-faults.ts';
import { sharedCluster } from '../../support/cluster/control-plane.ts';
import { startFaultyNode } from '../../support/cluster/faulty-node.ts';
import { runningOf, untilOnlyThese } from '../../support/kubelet/observed-node-state.ts';
import { isRunning } from '../../support/cluster/pod-watch.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const kinds = [
  {
    name: 'a token file',
    nodeName: 'token-file',
    user: (folder: string) => ({ tokenFile: join(folder, 'token') }),
    issue: (folder: string, token: string) => writeFileSync(join(folder, 'token'), token),
  },
  {
    name: 'a credential plugin',
    nodeName: 'token-plugin',
    user: (folder: string) => ({
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: 'sh',
        args: ['-c', `echo called >> ${folder}/calls; cat ${folder}/credential`],
        interactiveMode: 'Never',
      },
    }),
    issue: (folder: string, token: string) =>
      writeFileSync(
        join(folder, 'credential'),
        JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } }),
      ),
  },
];

for (const { name, nodeName, user, issue } of kinds) {
  test(`an expired token from ${name} is replaced`, async (t) => {
    const cluster = await sharedCluster();
    t.after(() => cluster.close());
    const folder = mkdtempSync(join(tmpdir(), 'credentials-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const kubeconfig = (proxy: FaultyApiServer) => {
      proxy.acceptedToken = 'the first';
      issue(folder, proxy.acceptedToken);
      const path = join(folder, 'kubeconfig');
      writeFileSync(
        path,
        stringify({
          apiVersion: 'v1',
          kind: 'Config',
          clusters: [
            {
              name: 'c',
              cluster: { server: proxy.url, 'certificate-authority-data': readFileSync(cluster.controlPlane.caFile).toString('base64') },
            },
          ],
          users: [{ name: 'u', user: user(folder) }],
          contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
          'current-context': 'x',
        }),
      );
      return path;
    };
    const faulty = await startFaultyNode(t, cluster, nodeName, { kubeconfig });
    const { pods, proxy, node } = faulty;
    const { metadata } = await faulty.create('healthy');
    await pods.until('healthy', 'runs', isRunning);
    const containerIDs = await runningOf(node, metadata.uid);

    // The old token is refused at once, and watches end; the new token does not exist yet.
    const from = proxy.requests.length;
    proxy.acceptedToken = 'the second';
    proxy.cut(() => true);
    await faulty.create('created-during-expiry');
    await waitUntil('the kubelet is refused', () => proxy.requests.length >= from + 6, 60_000);
    assert.deepEqual(await runningOf(node), containerIDs);
    issue(folder, 'the second');
    const renewedAt = performance.now();
    await pods.until('created-during-expiry', 'runs', isRunning, 120_000);
    t.diagnostic(
      `${Math.round(performance.now() - renewedAt)} ms after the new token; ${proxy.requests.length - from} requests since the old token expired`,
    );
    assert.deepEqual(await runningOf(node, metadata.uid), containerIDs);
    // The next token exists before the old one is refused: no request fails.
    issue(folder, 'the third');
    proxy.acceptedToken = 'the third';
    await faulty.create('created-after-renewal');
    await pods.until('created-after-renewal', 'runs', isRunning, 120_000);
    assert.equal(await faulty.readyStatus(), 'True');
    for (const each of ['healthy', 'created-during-expiry', 'created-after-renewal']) await pods.delete(each);
    await pods.untilAll('all are gone', (all) => all.length === 0, 120_000);
    await untilOnlyThese(node, []);
    // The token must not be logged.
    assert.doesNotMatch(node.log(), /the (first|second|third)"?/);
  });
}

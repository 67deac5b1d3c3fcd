/** A container's termination message from its file, and from its log, with a symlink in the log folder. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

let node: TestNode;
before(async () => {
  node = await TestNode.start(null);
  await node.startKubelet();
});
after(() => node.destroy());

test('a termination message is not read through a symlink out of the log folder', async () => {
  const secret = join(node.folder, 'secret.log');
  writeFileSync(secret, '2026-01-01T00:00:00Z stdout F root:secret:0:0\n');
  const triggers = join(node.folder, 'triggers');
  mkdirSync(triggers);
  const manifest = (name: string) =>
    aManifest(name, {
      restartPolicy: 'Never',
      containers: [
        aBusybox({
          sh: `echo last line; until [ -e /triggers/${name} ]; do sleep 0.1; done; exit 1`,
          terminationMessagePolicy: 'FallbackToLogsOnError',
          volumeMounts: [{ name: 'triggers', mountPath: '/triggers' }],
        }),
      ],
      volumes: [{ name: 'triggers', hostPath: { path: triggers } }],
    });
  const messageOf = async (name: string, changeLog: (log: string) => void) => {
    node.apply(manifest(name));
    const pod = await node.untilRunning(name);
    await waitUntil('the log has its line', () => node.logsOf(pod, 'app') === 'last line');
    const { namespace, name: podName, uid } = pod.metadata;
    changeLog(join(node.podLogs, `${namespace}_${podName}_${uid}`, 'app/0.log'));
    writeFileSync(join(triggers, name), '');
    const { status } = await node.until(name, 'has failed', ({ status }) => status?.phase === 'Failed');
    return status?.containerStatuses?.[0]?.state?.terminated?.message;
  };
  assert.equal(await messageOf('plain', () => {}), 'last line\n');
  const message = await messageOf('linked', (log) => {
    rmSync(log);
    symlinkSync(secret, log);
  });
  assert.match(message ?? '', /^Error on reading termination message from logs: it lies outside of /);
});

test('a termination message is read from a path in any spelling', async () => {
  const paths = ['/dev/termination-log', '/app//message', '/app/message/', 'app/message', '/app/../app/./message'];
  const containers = paths.map((terminationMessagePath, index) =>
    aBusybox({
      name: `app-${index}`,
      sh: `echo by ${index} > ${terminationMessagePath.replace(/\/$/, '')}`,
      workingDir: '/',
      terminationMessagePath,
    }),
  );
  node.apply(aManifest('spelled', { restartPolicy: 'Never', containers }));
  const { status } = await node.until('spelled', 'has succeeded', ({ status: { phase } = {} }) => phase === 'Succeeded');
  assert.deepEqual(
    status?.containerStatuses?.map(({ state }) => state?.terminated?.message),
    paths.map((_, index) => `by ${index}\n`),
  );
});

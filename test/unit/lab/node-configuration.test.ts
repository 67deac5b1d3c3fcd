import assert from 'node:assert/strict';
import { nodeConfiguration } from '../../../lab/kubelet/node-configuration.ts';
import { kubeletArguments } from '../../../lab/kubelet/start-kubelet.ts';
import { table } from '../../support/table.ts';

const node = { runtimeEndpoint: 'unix:///run/c.sock', manifests: '/m', podLogs: '/l' };

table('the configuration of a node that shares its host', (row) => {
  row('has folders and a runtime of its own, and creates no chains', () => {
    const { containerRuntimeEndpoint, staticPodPath, podLogsDir, makeIPTablesUtilChains } = nodeConfiguration({
      ...node,
      cgroupRoot: '/n',
    });
    const shown = { containerRuntimeEndpoint, staticPodPath, podLogsDir, makeIPTablesUtilChains };
    const want = { containerRuntimeEndpoint: 'unix:///run/c.sock', staticPodPath: '/m', podLogsDir: '/l', makeIPTablesUtilChains: false };
    assert.deepEqual(shown, want);
  });
  for (const [name, cgroupRoot, want] of [
    ['below its root of cgroups', '/n', { cgroupRoot: '/n', cgroupsPerQOS: undefined }],
    ['without cgroups', null, { cgroupRoot: undefined, cgroupsPerQOS: false }],
  ] as const)
    row(name, () => {
      const fields: Readonly<Record<string, unknown>> = nodeConfiguration({ ...node, cgroupRoot });
      assert.deepEqual({ cgroupRoot: fields['cgroupRoot'], cgroupsPerQOS: fields['cgroupsPerQOS'] }, want);
    });
});

table('the flags of a kubelet', (row) => {
  const flags = { config: '/c', rootDir: '/r', nodeName: 'a' };
  const standalone = ['--config', '/c', '--root-dir', '/r', '--hostname-override', 'a'];
  row('outside of a cluster', () => assert.deepEqual(kubeletArguments(flags), standalone));
  row('of a member', () => assert.deepEqual(kubeletArguments({ ...flags, kubeconfig: '/k' }), [...standalone, '--kubeconfig', '/k']));
});

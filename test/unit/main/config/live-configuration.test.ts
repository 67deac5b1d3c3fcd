import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDefaults } from '../../../../src/main/config/defaults.ts';
import { computeFeatureGates } from '../../../../src/main/config/feature-gates.ts';
import { LiveConfiguration } from '../../../../src/main/config/live-configuration.ts';
import { parseConfigFile } from '../../../../src/main/config/read-config-file.ts';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

test('/configz shows the values in effect: of reserved CPUs, and of what the kubelet detects', () => {
  const text = `${header}reservedSystemCPUs: 0-1\nkubeReserved: {cpu: "3", memory: 1Gi}\nsystemReserved: {cpu: "1"}\ncgroupDriver: cgroupfs\n`;
  const live = new LiveConfiguration(applyDefaults(parseConfigFile(text, 'strict').raw, computeFeatureGates({}).gates));
  live.setDetected({ cgroupDriver: 'systemd' });
  live.setDetected({ tlsCertFile: '/pki/kubelet.crt', tlsPrivateKeyFile: '/pki/kubelet.key' });
  const { kubeletconfig: shown } = JSON.parse(live.configz()) as { kubeletconfig: Record<string, unknown> };
  assert.deepEqual([shown['kubeReserved'], shown['systemReserved']], [{ memory: '1Gi' }, { cpu: '2' }]);
  assert.deepEqual(
    [shown['cgroupDriver'], shown['tlsCertFile'], shown['tlsPrivateKeyFile']],
    ['systemd', '/pki/kubelet.crt', '/pki/kubelet.key'],
  );
  assert.deepEqual(live.running.kubeReserved, { cpu: '3', memory: '1Gi' });
});

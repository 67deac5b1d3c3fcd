import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toConfigz } from '../../../../src/main/config/configz.ts';
import { applyDefaults } from '../../../../src/main/config/defaults.ts';
import { computeFeatureGates } from '../../../../src/main/config/feature-gates.ts';
import { parseConfigFile } from '../../../../src/main/config/read-config-file.ts';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function configzOf(text: string): Record<string, unknown> {
  const config = applyDefaults(parseConfigFile(header + text, 'strict').raw, computeFeatureGates({}).gates);
  return (JSON.parse(toConfigz(config)) as { kubeletconfig: Record<string, unknown> }).kubeletconfig;
}

test('/configz has Go’s JSON: durations in Go’s format, no empty fields', () => {
  const shown = configzOf('syncFrequency: 90s\n');
  assert.equal(shown['kind'], 'KubeletConfiguration');
  assert.equal(shown['syncFrequency'], '1m30s');
  assert.equal(shown['shutdownGracePeriod'], '0s');
  assert.deepEqual(shown['memorySwap'], {});
  assert.deepEqual(shown['crashLoopBackOff'], { maxContainerRestartPeriod: '5m0s' });
  for (const absent of ['staticPodPath', 'readOnlyPort', 'evictionHard', 'tracing', 'maxParallelImagePulls', 'singleProcessOOMKill']) {
    assert.ok(!(absent in shown), absent);
  }
});

test('/configz has pointers and booleans with a value, including false', () => {
  const shown = configzOf('healthzPort: 0\n');
  assert.equal(shown['healthzPort'], 0);
  assert.deepEqual(shown['authentication'], { x509: {}, webhook: { enabled: true, cacheTTL: '2m0s' }, anonymous: { enabled: false } });
  assert.deepEqual(shown['logging'], {
    format: 'text',
    flushFrequency: '5s',
    verbosity: 0,
    options: { text: { infoBufferSize: '0' }, json: { infoBufferSize: '0' } },
  });
});

test('/configz can be parsed as a configuration, with the same result', () => {
  const shown = configzOf('maxParallelImagePulls: 4\nclusterDNS: [10.0.0.10]\nregisterWithTaints: [{key: a, effect: NoSchedule}]\n');
  const again = applyDefaults(parseConfigFile(JSON.stringify(shown), 'strict').raw, computeFeatureGates({}).gates);
  assert.deepEqual(JSON.parse(toConfigz(again)), { kubeletconfig: shown });
});

test('/configz never has the password of staticPodURL', () => {
  assert.equal(configzOf('staticPodURL: https://user:secret@pods.example/list?a=1\n')['staticPodURL'], 'https://pods.example/list?a=1');
  assert.equal(configzOf('staticPodURL: https://pods.example\n')['staticPodURL'], 'https://pods.example');
});

test('/configz never has the values of staticPodURLHeader', () => {
  const shown = configzOf('staticPodURLHeader: {Authorization: [Bearer secret]}\n');
  assert.deepEqual(shown['staticPodURLHeader'], { Authorization: ['<masked>'] });
});

import assert from 'node:assert/strict';
import { asAllocated } from '../../../../src/main/allocation/index.ts';
import { noExclusiveResources, PodResourcesLister, type ResourceProviders } from '../../../../src/main/pod-resources/index.ts';
import { PodManager } from '../../../../src/main/pods/pod-manager.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { table } from '../../../support/table.ts';

const aPod = (name: string, spec: object = {}): Pod => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}` },
  spec: { containers: [{ name: 'app' }], ...spec },
});
const sidecars = { initContainers: [{ name: 'init' }, { name: 'side', restartPolicy: 'Always' }] };
const devices = [{ resourceName: 'example.com/gpu', deviceIds: ['0'], topology: { nodes: [{ ID: 0n }] } }];

function aLister(over: Partial<ResourceProviders> = {}, gates: Partial<{ listUsesActivePods: boolean; podLevel: boolean }> = {}) {
  const podManager = new PodManager();
  for (const pod of [aPod('web', sidecars), aPod('over')]) podManager.set(pod);
  return new PodResourcesLister({
    podManager,
    isActive: ({ metadata }) => metadata.name !== 'over',
    allocatedPod: asAllocated,
    providers: { ...noExclusiveResources, ...over },
    gates: { listUsesActivePods: true, podLevel: false, ...gates },
  });
}

table('the PodResources API', (row) => {
  const summary = (lister: PodResourcesLister, version: 'v1' | 'v1alpha1' = 'v1') =>
    lister.list(version).map(({ name, containers }) => [name, ...containers.map((container) => container.name)].join(' '));
  row('lists active pods with their sidecars', () => assert.deepEqual(summary(aLister()), ['web side app']));
  row('lists pods that have ended when the gate is off', () =>
    assert.deepEqual(summary(aLister({}, { listUsesActivePods: false })), ['web side app', 'over app']),
  );
  row('lists all pods in v1alpha1, without init containers', () =>
    assert.deepEqual(summary(aLister(), 'v1alpha1'), ['web app', 'over app']),
  );
  row('finds an active pod only', () => {
    const lister = aLister();
    assert.deepEqual([lister.get('ns', 'web')?.name, lister.get('ns', 'over'), lister.get('other', 'web')], ['web', undefined, undefined]);
  });
  row('shows what the managers have given', () => {
    const lister = aLister({ devices: (_, name) => (name === 'app' ? devices : []), cpus: (_, { name }) => (name === 'side' ? [2n] : []) });
    const none = { devices: [], cpuIds: [], memory: [], dynamicResources: [] };
    assert.deepEqual(lister.get('ns', 'web')?.containers, [
      { ...none, name: 'side', cpuIds: [2n] },
      { ...none, name: 'app', devices },
    ]);
    assert.deepEqual(lister.list('v1alpha1')[0]?.containers[0]?.devices, [{ ...devices[0], topology: undefined }]);
  });
  row('shows resources of the pod with the gate only', () => {
    const podCPUs = () => [3n];
    assert.deepEqual(aLister({ podCPUs }).get('ns', 'web')?.cpuIds, []);
    assert.deepEqual(aLister({ podCPUs }, { podLevel: true }).get('ns', 'web')?.cpuIds, [3n]);
  });
  row('frees the devices of ended pods before a list', () => {
    let freed = 0;
    const lister = aLister({ updateAllocatedDevices: () => (freed += 1) });
    lister.list('v1');
    lister.list('v1alpha1');
    assert.equal(freed, 2);
  });
});

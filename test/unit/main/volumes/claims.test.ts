/** Which claims pods may use, what the volumes thread is asked for, and which files get the pod's group. */
import assert from 'node:assert/strict';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { bindingOfVolumeProblem, claimOfVolume, claimProblem } from '../../../../src/main/volumes/claims/claim-of-volume.ts';
import { fsGroupChange } from '../../../../src/main/volumes/claims/fs-group.ts';
import { toInlineRequest, toPublishRequest, type SecretTexts } from '../../../../src/main/volumes/claims/to-publish-request.ts';
import type { CsiDriverObject, CsiSource, PersistentVolume, PersistentVolumeClaim } from '../../../../src/main/volumes/volume-objects.ts';
import { table } from '../../../support/table.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'shop', uid: 'pod-1' },
  spec: { containers: [{ name: 'app' }], securityContext: { fsGroup: 2000, fsGroupChangePolicy: 'OnRootMismatch' } },
};
const aClaim = (changes: Partial<PersistentVolumeClaim> = {}): PersistentVolumeClaim => ({
  metadata: { name: 'c1', namespace: 'shop', uid: 'claim-1' },
  spec: { volumeName: 'pv1' },
  status: { phase: 'Bound' },
  ...changes,
});
const named = { claimName: 'c1', readOnly: false, isEphemeral: false };

table("a pod's claim", (row) => {
  const metadata = aClaim().metadata;
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const cases: [name: string, claim: PersistentVolumeClaim, reference: typeof named, want: string | null][] = [
    ['is used when it is bound', aClaim(), named, null],
    ['is refused while it is pending', aClaim({ status: { phase: 'Pending' } }), named, 'error processing PVC shop/c1: PVC is not bound'],
    ['is refused without a volume', aClaim({ spec: {} }), named, 'error processing PVC shop/c1: PVC has empty pvc.Spec.VolumeName'],
    [
      'is refused when it is being deleted',
      aClaim({ metadata: { ...metadata, deletionTimestamp } }),
      named,
      'error processing PVC shop/c1: PVC is being deleted',
    ],
    [
      'is used while its finalizer keeps it',
      aClaim({ metadata: { ...metadata, deletionTimestamp, finalizers: ['kubernetes.io/pvc-protection'] } }),
      named,
      null,
    ],
    [
      'of an ephemeral volume belongs to the pod',
      aClaim({ metadata: { ...metadata, ownerReferences: [{ uid: 'pod-1', controller: true }] } }),
      { ...named, isEphemeral: true },
      null,
    ],
    [
      'of an ephemeral volume is refused when it belongs to another pod',
      aClaim({ metadata: { ...metadata, ownerReferences: [{ uid: 'pod-0', controller: true }] } }),
      { ...named, isEphemeral: true },
      'PVC shop/c1 was not created for pod shop/web (pod is not owner)',
    ],
  ];
  for (const [name, claim, reference, want] of cases) row(name, () => assert.equal(claimProblem(pod, claim, reference), want));
  row('has the name of the volume', () =>
    assert.deepEqual(claimOfVolume(pod, { name: 'v', persistentVolumeClaim: { claimName: 'c1', readOnly: true } }), {
      ...named,
      readOnly: true,
    }),
  );
  row('of an ephemeral volume has the names of the pod and the volume', () =>
    assert.deepEqual(claimOfVolume(pod, { name: 'v', ephemeral: {} }), { claimName: 'web-v', readOnly: false, isEphemeral: true }),
  );
  row('does not exist for other volumes', () => assert.equal(claimOfVolume(pod, { name: 'v', emptyDir: {} }), null));
  row('and its volume refer to each other', () =>
    assert.equal(bindingOfVolumeProblem(aClaim(), { metadata: { name: 'pv1', uid: 'u' }, spec: { claimRef: { uid: 'claim-1' } } }), null),
  );
  row('is refused with a volume of another claim', () =>
    assert.equal(
      bindingOfVolumeProblem(aClaim(), { metadata: { name: 'pv1', uid: 'u' }, spec: { claimRef: { uid: 'claim-0' } } }),
      'error processing PVC shop/c1: found PV object pv1 but its pv.Spec.ClaimRef.UID claim-0 does not point to claim.UID claim-1',
    ),
  );
});

table("the pod's group", (row) => {
  const volume = { fsGroupPolicy: 'ReadWriteOnceWithFSType', fsType: 'ext4', accessModes: ['ReadWriteOnce'], readOnly: false };
  const cases: [name: string, changes: Partial<typeof volume> | { fsGroupPolicy: undefined }, want: boolean][] = [
    ['owns the files of a ReadWriteOnce volume with a file system', {}, true],
    ['owns them without a policy', { fsGroupPolicy: undefined }, true],
    ['owns none without a file system type', { fsType: '' }, false],
    ['owns none of a shared volume', { accessModes: ['ReadWriteMany'] }, false],
    ['owns those of a shared volume by the policy File', { fsGroupPolicy: 'File', accessModes: ['ReadWriteMany'], fsType: '' }, true],
    ['owns none by the policy None', { fsGroupPolicy: 'None' }, false],
    ['owns none of a read-only volume', { readOnly: true, fsGroupPolicy: 'File' }, false],
  ];
  for (const [name, changes, appliesToFiles] of cases)
    row(name, () =>
      assert.deepEqual(fsGroupChange(pod, { ...volume, ...changes }), { fsGroup: 2000, onlyOnRootMismatch: true, appliesToFiles }),
    );
  row('is nothing without a group', () => assert.equal(fsGroupChange({ ...pod, spec: { containers: [] } }, volume), null));
});

table('the request for a volume', (row) => {
  const source: CsiSource = { driver: 'd', volumeHandle: 'h', fsType: 'xfs', volumeAttributes: { a: 'b' } };
  const persistentVolume: PersistentVolume = {
    metadata: { name: 'pv1', uid: 'u' },
    spec: { accessModes: ['ReadWriteOncePod'], mountOptions: ['noatime'], csi: source },
  };
  const driver: CsiDriverObject = { metadata: { name: 'd', uid: 'u' }, spec: { attachRequired: false, fsGroupPolicy: 'None' } };
  const resolved = {
    pod,
    volume: { name: 'v' },
    persistentVolume,
    source,
    driver,
    readOnly: true,
    stageSecrets: { k: 's' } as SecretTexts,
    publishSecrets: {},
  };
  row('has what the driver needs', () =>
    assert.deepEqual(toPublishRequest(resolved), {
      podUID: 'pod-1',
      lifecycle: 'Persistent',
      specName: 'pv1',
      driver: 'd',
      volumeHandle: 'h',
      fsType: 'xfs',
      volumeAttributes: { a: 'b' },
      podAttributes: {},
      stageSecrets: { k: 's' },
      publishSecrets: {},
      mountOptions: ['noatime'],
      accessModes: ['ReadWriteOncePod'],
      readOnly: true,
      fsGroup: { fsGroup: 2000, onlyOnRootMismatch: true, appliesToFiles: false },
      needsAttachment: false,
      publishContext: {},
    }),
  );
  row('needs an attachment for a driver without a CSIDriver', () => {
    const request = toPublishRequest({ ...resolved, driver: null });
    assert.equal(typeof request === 'string' ? request : request.needsAttachment, true);
  });
  const refused: [name: string, changes: Partial<typeof resolved>, want: RegExp][] = [
    ['is refused with endless secrets', { stageSecrets: { a: 'x'.repeat(300_000) } }, /more than 262144 characters/],
    [
      'is refused for a driver of inline volumes only',
      { driver: { ...driver, spec: { volumeLifecycleModes: ['Ephemeral'] } } },
      /volume mode "Persistent" not supported by driver d \(only supports \["Ephemeral"\]\)/,
    ],
    ['is refused for a block volume', { persistentVolume: { ...persistentVolume, spec: { volumeMode: 'Block' } } }, /volumeMode Block/],
    [
      'is refused with endless attributes',
      { source: { ...source, volumeAttributes: { a: 'x'.repeat(300_000) } } },
      /more than 262144 characters/,
    ],
  ];
  for (const [name, changes, want] of refused) row(name, () => assert.match(toPublishRequest({ ...resolved, ...changes }) as string, want));
  row('tells a driver of the pod if it wants to know', () => {
    const request = toPublishRequest({ ...resolved, driver: { ...driver, spec: { ...driver.spec, podInfoOnMount: true } } });
    assert.deepEqual(typeof request === 'string' ? request : request.podAttributes, {
      'csi.storage.k8s.io/pod.name': 'web',
      'csi.storage.k8s.io/pod.namespace': 'shop',
      'csi.storage.k8s.io/pod.uid': 'pod-1',
      'csi.storage.k8s.io/serviceAccount.name': '',
      'csi.storage.k8s.io/ephemeral': 'false',
    });
  });
  const inline = { pod, name: 'v', source: { driver: 'd', readOnly: true }, publishSecrets: {} };
  row('for an inline volume has a handle of the pod and the name, and needs no attachment', () => {
    const request = toInlineRequest({ ...inline, driver: { ...driver, spec: { volumeLifecycleModes: ['Ephemeral'] } } });
    assert.ok(typeof request !== 'string');
    assert.deepEqual([request.lifecycle, request.specName, request.readOnly, request.needsAttachment], ['Ephemeral', 'v', true, false]);
    assert.equal(request.volumeHandle, 'csi-f8b3b23a9869e3140743dcf417202745fe6791927b4dec3e6e8941d84710cf42');
  });
  row('for an inline volume is refused without a CSIDriver', () =>
    assert.equal(toInlineRequest({ ...inline, driver: null }), 'volume mode "Ephemeral" not supported by driver d (no CSIDriver object)'),
  );
});

import assert from 'node:assert/strict';
import { aManifest, errorsOf, type Json } from '../../../../support/pods/manifests.ts';
import { table } from '../../../../support/table.ts';

const v = 'spec.volumes[0]';
const volume = (source: Json, name = 'v') => aManifest({ spec: { volumes: [{ name, ...source }] } });
const projected = (...sources: Json[]) => volume({ projected: { sources } });
const claim = (spec: Json) =>
  volume({
    ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec } } },
  });
const claimSpec = `${v}.ephemeral.volumeClaimTemplate.spec`;

const cases: readonly [manifest: Json, ...errors: string[]][] = [
  [volume({}, ''), `${v}.name: Required value`],
  [volume({}, 'a.b'), `${v}.name: Invalid value: "a.b": must not contain dots`],
  [aManifest({ spec: { volumes: [{ name: 'v' }, { name: 'v' }] } }), 'spec.volumes[1].name: Duplicate value: "v"'],
  [volume({ emptyDir: {}, hostPath: { path: '/x' } }), `${v}.hostPath: Forbidden: may not specify more than 1 volume type`],
  [volume({ emptyDir: { sizeLimit: '-1' } }), `${v}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`],
  [volume({ hostPath: {} }), `${v}.hostPath.path: Required value`],
  [volume({ hostPath: { path: '/a/../b' } }), `${v}.hostPath.path: Invalid value: "/a/../b": must not contain '..'`],
  [
    volume({ hostPath: { path: '/a', type: 'Fifo' } }),
    `${v}.hostPath.type: Unsupported value: "Fifo": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`,
  ],
  [
    volume({ secret: { secretName: 's', defaultMode: 0o1000 } }),
    `${v}.secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive`,
  ],
  [
    volume({ configMap: { name: 'c', items: [{ key: 'k', path: '..x' }] } }),
    `${v}.configMap.items[0].path: Invalid value: "..x": must not start with '..'`,
  ],
  [
    volume({ downwardAPI: { items: [{ path: 'p' }] } }),
    `${v}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`,
  ],
  [
    volume({ downwardAPI: { items: [{ path: 'p', resourceFieldRef: { resource: 'limits.cpu' } }] } }),
    `${v}.downwardAPI.resourceFieldRef.containerName: Required value`,
  ],
  [
    volume({ downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'status.podIP' } }] } }),
    `${v}.downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"`,
  ],
  [volume({ persistentVolumeClaim: {} }), `${v}.persistentVolumeClaim.claimName: Required value`],
  [volume({ csi: { driver: 'x'.repeat(64) } }), `${v}.csi.driver: Too long: may not be more than 63 bytes`],
  [volume({ image: { pullPolicy: 'Always' } }), `${v}.image.reference: Required value`],
  [
    volume({ image: { reference: 'x', pullPolicy: 'Ever' } }),
    `${v}.image.pullPolicy: Unsupported value: "Ever": supported values: "Always", "IfNotPresent", "Never"`,
  ],
  [
    projected({ secret: { name: 's', items: [{ key: 'k', path: 'p' }] } }, { configMap: { name: 'c', items: [{ key: 'k', path: 'p' }] } }),
    `${v}.projected: Invalid value: "c": conflicting duplicate paths`,
  ],
  [
    projected({ secret: { name: 's' }, configMap: { name: 'c' } }),
    `${v}.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source`,
  ],
  [
    projected({ serviceAccountToken: { path: 't', expirationSeconds: 5 } }),
    `${v}.projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes`,
    `${v}.projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`,
  ],
  [
    projected({ clusterTrustBundle: { path: 'p' } }),
    `${v}.projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified`,
  ],
  [
    projected({ podCertificate: { signerName: 'x', keyType: 'RSA1', keyPath: 'k' } }),
    `${v}.projected.sources[0].podCertificate.signerName: Invalid value: "x": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
    `${v}.projected.sources[0].podCertificate.keyType: Unsupported value: "RSA1": supported values: "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096"`,
  ],
  [volume({ ephemeral: {} }), `${v}.ephemeral.volumeClaimTemplate: Required value`],
  [claim({ accessModes: [] }), `${claimSpec}.accessModes: Required value: at least 1 access mode is required`],
  [
    claim({ accessModes: ['ReadWriteOncePod', 'ReadOnlyMany'] }),
    `${claimSpec}.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes`,
  ],
  [claim({ resources: {} }), `${claimSpec}.resources[storage]: Required value`],
  [claim({ volumeMode: 'Tape' }), `${claimSpec}.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"`],
  [volume({ nfs: { server: 's', path: 'x' } }), `${v}.nfs.path: Invalid value: "x": must be an absolute path`],
  [
    volume({ iscsi: { targetPortal: 't', iqn: 'x', lun: 256 } }),
    `${v}.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa`,
    `${v}.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive`,
  ],
  [volume({ fc: { targetWWNs: ['a'] } }), `${v}.fc.lun: Required value: lun is required if targetWWNs is specified`],
  [volume({ rbd: { image: 'i' } }), `${v}.rbd.monitors: Required value`],
  [
    volume({ flexVolume: { driver: 'd', options: { 'k8s.io/x': 'y' } } }),
    `${v}.flexVolume.options[k8s.io/x]: Invalid value: "k8s.io/x": kubernetes.io and k8s.io namespaces are reserved`,
  ],
  [
    volume({ azureDisk: { diskName: 'd', diskURI: 'x' } }),
    `${v}.azureDisk.diskURI: Unsupported value: "x": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"`,
  ],
  [
    volume({ quobyte: { registry: 'host', volume: 'v' } }),
    `${v}.quobyte.registry: Invalid value: "host": must be a host:port pair or multiple pairs separated by commas`,
  ],
  [volume({ flocker: {} }), `${v}.flocker: Required value: one of datasetName and datasetUUID is required`],
  [volume({ scaleIO: { gateway: 'g', system: 's', secretRef: {} } }), `${v}.scaleIO.volumeName: Required value`],
];
table('an invalid volume is rejected with its error', (row) => {
  for (const [manifest, ...errors] of cases) {
    row(`a volume is rejected:  ${errors[0]?.slice(0, 140)}`, () => assert.deepEqual(errorsOf(manifest), errors));
  }
});
